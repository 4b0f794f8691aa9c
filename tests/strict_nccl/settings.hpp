// SPDX-License-Identifier: BSD-3-Clause
// Behavior of strict NCCL, and the failures it simulates.
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
  /// ncclGetVersion of each rank; the last one applies to all further ranks.
  std::vector<int> versions = {22809};
  /// How often a communicator returns "in progress" after a call that may take long.
  int busy_answers = 2;
  /// Duration of a matched message.
  std::function<std::chrono::microseconds(int from, int to)> delay = [](int, int) {
    return std::chrono::microseconds(0);
  };
  std::string unique_id_error = {};    ///< not empty: ncclGetUniqueId fails with it
  std::set<int> init_fails_on = {};    ///< ranks whose ncclCommInitRank fails
  std::set<int> init_never_ends = {};  ///< ranks that never finish joining a communicator
  bool finalize_never_ends = false;
  /// ncclCommAbort does not return until StrictWorld::let_aborts_return.
  bool abort_hangs = false;
  /// ncclCommAbort does not return before all of the rank's communicators are aborted too, as if one waited for
  /// another's receive.
  bool aborts_meet = false;
  /// The device executes its streams one after the other, in the order in which operations were queued (one hardware
  /// queue, no free multiprocessor, a profiler).
  bool serial_streams = false;
  /// A launch waits until the device is idle (lazy loading, cudaFree).
  bool launch_waits = false;
  /// How long a host takes to queue a kernel; it polls nothing meanwhile. Needs virtual time.
  std::chrono::microseconds queue_time{0};
  /// Kernels and messages take virtual time. It stops while the host of a rank does more than poll, and then jumps to
  /// the next end of one.
  bool virtual_time = false;
  /// The first element of each delivered message is wrong, as happens if direct access between GPUs is broken.
  bool corrupts = false;
};

}  // namespace plumbline::strict
