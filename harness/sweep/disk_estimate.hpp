// SPDX-License-Identifier: BSD-3-Clause
// How much disk a sweep will take, roughly, before anything has been started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/run_size.hpp"

namespace plumbline {

/// Bytes of one record with the folder of its launch: `ranks` 0 for a reference. `level` as in a run file.
double record_bytes(const RunSize& size, std::int64_t ranks, std::int64_t stages, const std::string& level);

struct DiskEstimate {
  double stays = 0;   ///< bytes
  double passes = 0;  ///< more of them until the dumps that the key audit asks for have been audited
};

/// Of all references and cells with the runs that measure and repeat, without second runs of cells that fail; nothing
/// for commands of the user's own, of which nobody knows what they train.
std::optional<DiskEstimate> disk_estimate(const SweepFile& sweep, const SweepPlan& plan);

/// "about 70 MB on disk, and 0.8 GB more until its audit is done", and what is free in `folder` where that is less.
std::string disk_text(const DiskEstimate& estimate, const std::filesystem::path& folder);

}  // namespace plumbline
