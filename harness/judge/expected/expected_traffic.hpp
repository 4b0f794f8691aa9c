// SPDX-License-Identifier: BSD-3-Clause
// What must move between ranks in one step, from the lowered list, the partition and the sizes of the microbatches
// alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/judge/expected/stage_map.hpp"
#include "schedule/action.hpp"

namespace plumbline::judging {

/// One rank's view of an edge, as in traffic.csv.
struct TrafficEdge {
  std::int64_t peer = 0;
  std::string direction;  ///< forward | backward
  std::string side;       ///< send | receive
  friend auto operator<=>(const TrafficEdge&, const TrafficEdge&) = default;
};

struct Moved {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};

/// Payload messages of a rank's lowered list. `bytes`: of the tensor that crosses a cut, by microbatch. The exchange of
/// tied gradients is no message between stages and is not counted. Throws InputError for a message to a stage that the
/// map lacks.
std::map<TrafficEdge, Moved> expected_traffic(const ActionList& lowered, const StageMap& stages,
                                              const std::vector<std::int64_t>& bytes);

/// An upper bound of a rank's transport buffers in a step: a receive buffer counts from its place in the list until the
/// action that consumes it has started, a sent tensor from its maker on (a SEND may stand late) to the end of the step
/// (the contract lets it be reaped any time before), a tensor handed over within the rank from its maker's end until
/// its taker starts, and `tied_bytes` while REDUCE runs. No order of arrivals can need more.
std::int64_t buffer_bound(const ActionList& lowered, const StageMap& stages, const std::vector<std::int64_t>& bytes,
                          std::int64_t tied_bytes);

}  // namespace plumbline::judging
