// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/forward_only.hpp"

#include <algorithm>

#include "schedule/lowering.hpp"

namespace plumbline {

Schedule forward_only(const Placement& placement, std::int32_t microbatches) {
  Schedule schedule{"forward-only", placement, microbatches, {}};
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) {
    ActionList& list = schedule.ranks.emplace_back();
    for (std::int32_t first = 0; first < microbatches; first += placement.ranks) {
      const std::int32_t end = std::min(first + placement.ranks, microbatches);
      for (const std::int32_t stage : placement.stages_on(rank)) {
        for (std::int32_t m = first; m < end; ++m) list.push_back({stage, ActionType::forward, m});
      }
    }
  }
  return with_messages(schedule);
}

}  // namespace plumbline
