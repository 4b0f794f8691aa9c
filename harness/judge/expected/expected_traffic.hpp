// SPDX-License-Identifier: BSD-3-Clause
// Expected traffic between ranks in one step, derived from the lowered list, the partition and the sizes of the
// microbatches.
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

/// Payload messages of a rank's lowered list. `bytes`: of the boundary tensor, by microbatch. The exchange of tied
/// gradients is no message between stages and does not count. Throws InputError for a message to a stage that the map
/// lacks.
std::map<TrafficEdge, Moved> expected_traffic(const ActionList& lowered, const StageMap& stages,
                                              const std::vector<std::int64_t>& bytes);

/// Upper bound of a rank's transport buffers in a step, for any order of arrivals. A receive buffer counts from its
/// place in the list until its consumer has started; a sent tensor from its producer on (its SEND may come late) to the
/// end of the step (the contract allows any earlier release); a tensor passed within the rank from the end of its
/// producer to the start of its consumer; and `tied_bytes` during REDUCE.
std::int64_t buffer_bound(const ActionList& lowered, const StageMap& stages, const std::vector<std::int64_t>& bytes,
                          std::int64_t tied_bytes);

}  // namespace plumbline::judging
