// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/forward_only.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "schedule/message.hpp"

namespace plumbline {
namespace {

std::vector<Placement> placements() {
  std::vector<Placement> all;
  for (std::int32_t ranks = 1; ranks <= 5; ++ranks) {
    all.push_back({ranks, 1, PlacementKind::loop});
    all.push_back({ranks, 3, PlacementKind::loop});
    all.push_back({ranks, 2, PlacementKind::v});
  }
  return all;
}

TEST(ForwardOnly, RunsEachMicrobatchOncePerStage) {
  for (const Placement& placement : placements()) {
    const Schedule schedule = forward_only(placement, 7);
    std::map<std::pair<std::int32_t, std::int32_t>, int> taken;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      for (const Action& action : schedule.ranks[rank]) {
        if (is_communication(action.type)) continue;
        ASSERT_EQ(action.type, ActionType::forward) << to_text(action);
        EXPECT_EQ(placement.rank_of(action.stage), static_cast<std::int32_t>(rank));
        ++taken[{action.stage, action.microbatch}];
      }
    }
    EXPECT_EQ(taken.size(), static_cast<std::size_t>(placement.stages()) * 7U);
    for (const auto& [place, times] : taken) EXPECT_EQ(times, 1);
  }
}

/// Executes the lists as ranks whose sends wait for their receives; returns whether all reach their ends.
bool blocking_ranks_end(const Schedule& schedule) {
  std::vector<std::size_t> next(schedule.ranks.size(), 0);
  std::set<std::pair<std::int32_t, std::int32_t>> arrived;  // activations: receiving stage, microbatch
  const Placement& placement = schedule.placement;
  const auto at = [&](std::size_t rank) -> const Action* {
    return next[rank] < schedule.ranks[rank].size() ? &schedule.ranks[rank][next[rank]] : nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      const Action* action = at(rank);
      if (action == nullptr) continue;
      if (action->type == ActionType::forward) {
        if (action->stage > 0 && !arrived.contains({action->stage, action->microbatch})) continue;
        const std::int32_t above = action->stage + 1;
        if (above < placement.stages() && placement.rank_of(above) == placement.rank_of(action->stage))
          arrived.insert({above, action->microbatch});
      } else if (action->type == ActionType::send_forward) {
        const auto peer = static_cast<std::size_t>(placement.rank_of(action->stage + 1));
        const Action* other = at(peer);
        if (other == nullptr || *other != partner(*action)) continue;
        arrived.insert({action->stage + 1, action->microbatch});
        ++next[peer];
      } else {
        continue;  // its sender advances both
      }
      ++next[rank];
      moved = true;
    }
  }
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    if (at(rank) != nullptr) return false;
  }
  return true;
}

TEST(ForwardOnly, CompletesWithBlockingSends) {
  for (const Placement& placement : placements()) {
    for (const std::int32_t microbatches : {1, 2, 5, 16}) {
      EXPECT_TRUE(blocking_ranks_end(forward_only(placement, microbatches)))
          << placement.ranks << " ranks, " << placement.chunks_per_rank << " stages each, " << microbatches;
    }
  }
}

TEST(ForwardOnly, DeadlocksWithoutOneReceive) {
  Schedule schedule = forward_only({2, 1, PlacementKind::loop}, 3);
  std::erase(schedule.ranks[1], Action{1, ActionType::receive_forward, 1});

  EXPECT_FALSE(blocking_ranks_end(schedule));
}

}  // namespace
}  // namespace plumbline
