// SPDX-License-Identifier: BSD-3-Clause
// Runs of a sweep, side by side as far as there are slots.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plumbline {

/// One run. What it throws, whichever of the three, keeps the others that have not begun from beginning.
struct SlottedRun {
  std::int64_t ranks = 1;
  std::function<void()> before;  ///< in the caller's thread, when there is room for it
  /// In a thread of its own; the slots' numbers count from 0.
  std::function<void(const std::vector<std::int64_t>& slots)> run;
  std::function<void()> after;  ///< in the caller's thread, when it has ended well
};

/// Begins them in their order, or where the first has no room with the next that has. `tick` is called every 20 ms, in
/// the caller's thread. Returns when all have ended; then throws what was thrown first.
void run_side_by_side(const std::vector<SlottedRun>& runs, std::int64_t slots, const std::function<void()>& tick);

}  // namespace plumbline
