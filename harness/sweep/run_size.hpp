// SPDX-License-Identifier: BSD-3-Clause
// Rough size of a run before it starts, for estimates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/planned_run.hpp"

namespace plumbline {

struct RunSize {
  double parameters = 0;
  double tokens = 0;        ///< per step, including padding
  double microbatches = 0;  ///< of a step
  double steps = 0;
  double states = 0;  ///< optimizer state: numbers per parameter
  double hidden = 0, layers = 0;
  double element_bytes = 4;  ///< of the run's dtype
};

/// Zeros for what the run file and its model do not specify (the trainers report that), and for users' commands.
RunSize run_size(const SweepFile& sweep, const PlannedReference& reference);

/// Bytes of all dumps of one record: gradients, parameters and optimizer state of every step and of the start, and
/// boundary tensors, which a pipeline's record has as sent and as received.
double dump_bytes(const RunSize& size);

/// Estimated seconds of a run, including its start, on a current processor; only ratios are meaningful.
double rough_seconds(const RunSize& size, std::int64_t ranks);

/// Relative cost of the runs of a sweep, to estimate the remaining time.
class SweepWork {
 public:
  SweepWork(const SweepFile& file, const SweepPlan& plan);
  double of_reference(std::size_t index) const;
  double of(const PlannedCell& cell) const;
  double total() const { return total_; }

 private:
  bool calibrated_;
  std::vector<RunSize> sizes_;  ///< of the references
  double total_ = 0;
};

/// Bytes of one record with its launch folder: `ranks` 0 for a reference. `level` as in a run file.
double record_bytes(const RunSize& size, std::int64_t ranks, std::int64_t stages, const std::string& level);

/// Bytes of all references and cases, including runs for calibration and repetition, without second runs of failing
/// cases; nullopt for users' commands, whose training is unknown.
std::optional<double> disk_estimate(const SweepFile& sweep, const SweepPlan& plan);

/// "about 70 MB on disk"; the free space in `folder` if it is less.
std::string disk_text(double bytes, const std::filesystem::path& folder);

}  // namespace plumbline
