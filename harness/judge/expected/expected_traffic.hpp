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

}  // namespace plumbline::judging
