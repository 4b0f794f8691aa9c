// SPDX-License-Identifier: BSD-3-Clause
// Rough estimate of a sweep's disk usage before it starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/run_size.hpp"

namespace plumbline {

/// Bytes of one record with its launch folder: `ranks` 0 for a reference. `level` as in a run file.
double record_bytes(const RunSize& size, std::int64_t ranks, std::int64_t stages, const std::string& level);

struct DiskEstimate {
  double stays = 0;   ///< bytes
  double passes = 0;  ///< additional bytes until the dumps of the key audit have been recomputed
};

/// For all references and cases, including runs for calibration and repetition, without second runs of failing cases;
/// zeros for users' commands, whose training is unknown.
std::optional<DiskEstimate> disk_estimate(const SweepFile& sweep, const SweepPlan& plan);

/// "about 70 MB on disk, and 0.8 GB more until its values are recomputed"; the free space in `folder` if it is less.
std::string disk_text(const DiskEstimate& estimate, const std::filesystem::path& folder);

}  // namespace plumbline
