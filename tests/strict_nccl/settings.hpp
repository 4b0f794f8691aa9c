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
  /// First element of what each message delivers is wrong, as seen where direct access between GPUs is broken.
  bool corrupts = false;
  std::set<int> registers_nothing_on = {};    ///< ranks whose ncclCommRegister does nothing (NCCL_LOCAL_REGISTER=0)
  std::set<int> expandable_segments_on = {};  ///< ranks whose allocator has no segments that stay as they are
  /// Rank and how many of its registrations succeed before NCCL refuses one.
  std::map<int, int> registrations_before_refusal = {};
};

}  // namespace plumbline::strict
