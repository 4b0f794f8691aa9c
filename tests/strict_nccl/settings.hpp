// SPDX-License-Identifier: BSD-3-Clause
// How strict NCCL behaves, and what goes wrong on demand.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace plumbline::strict {

struct Settings {
  /// ncclGetVersion of each rank; the last one counts for all further ranks.
  std::vector<int> versions = {22809};
  /// Times that a communicator says "in progress" after a call that may take long.
  int busy_answers = 2;
  /// How long a matched message takes.
  std::function<std::chrono::microseconds(int from, int to)> delay = [](int, int) {
    return std::chrono::microseconds(0);
  };
  std::string unique_id_error = {};    ///< not empty: ncclGetUniqueId fails with it
  std::set<int> init_fails_on = {};    ///< ranks whose ncclCommInitRank fails
  std::set<int> init_never_ends = {};  ///< ranks that never finish joining a communicator
  bool finalize_never_ends = false;
  /// ncclCommAbort does not return until StrictWorld::let_aborts_return.
  bool abort_hangs = false;
  /// ncclCommAbort does not return before all of the rank's communicators are aborted too, as where one waits for
  /// another's receive.
  bool aborts_meet = false;
  /// The device works off its streams one after the other, in the order in which work was put on them (one hardware
  /// queue, no multiprocessor left, a profiler).
  bool serial_streams = false;
  /// A launch waits until the device has nothing to do (lazy loading, cudaFree).
  bool launch_waits = false;
  /// First element of what each message delivers is wrong, as seen where direct access between GPUs is broken.
  bool corrupts = false;
};

}  // namespace plumbline::strict
