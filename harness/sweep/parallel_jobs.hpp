// SPDX-License-Identifier: BSD-3-Clause
// Executes runs of a sweep as parallel jobs within the available slots (cores or GPUs).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plumbline {

/// One run. An exception of any of its functions prevents runs that have not started.
struct SlottedRun {
  std::int64_t ranks = 1;        ///< it takes as many slots, or all if there are fewer
  std::function<void()> before;  ///< in the caller's thread, when slots are free
  /// In its own thread; slots are numbered from 0. Empty if there is one slot: the run has all of the machine.
  std::function<void(const std::vector<std::int64_t>& slots)> run;
  std::function<void()> after;  ///< in the caller's thread, after success
};

/// Starts runs in order, skipping those for which too few slots are free. `tick` is called every 20 ms, in the caller's
/// thread. Returns when all have ended; then rethrows the first exception.
void run_parallel_jobs(const std::vector<SlottedRun>& runs, std::int64_t slots, const std::function<void()>& tick);

}  // namespace plumbline
