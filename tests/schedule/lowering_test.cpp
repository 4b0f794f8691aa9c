// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/lowering.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/forward_only.hpp"
#include "schedule/message.hpp"
#include "schedule/own_messages.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "tests/schedule/integer_model.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

/// Whether every rank reaches its end if a SEND and its RECV must be the next actions of both ranks at the same time.
bool meets_everywhere(const Schedule& lowered) {
  std::vector<std::size_t> next(lowered.ranks.size(), 0);
  const auto at_head = [&](std::size_t rank, const Action& action) {
    return next[rank] < lowered.ranks[rank].size() && lowered.ranks[rank][next[rank]] == action;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      for (; next[rank] < lowered.ranks[rank].size(); ++next[rank], moved = true) {
        const Action& action = lowered.ranks[rank][next[rank]];
        if (!is_communication(action.type)) continue;
        const Action other = partner(action);
        const auto peer = static_cast<std::size_t>(lowered.placement.rank_of(other.stage));
        if (!at_head(peer, other)) break;
        ++next[peer];
      }
    }
  }
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    if (next[rank] < lowered.ranks[rank].size()) return false;
  }
  return true;
}

TEST(Lower, EveryGeneratedScheduleKeepsItsComputeListsAndGetsSafeMessages) {
  const int count = for_each_generated([](const Schedule& schedule) {
    const Schedule lowered = lower(schedule, true);
    EXPECT_TRUE(verify(lowered, {.tied = true}).empty());
    EXPECT_EQ(compute_actions(lowered).ranks, schedule.ranks);
    if (schedule.microbatches > 9) return;
    // Independent of the verifier: every value arrives before its use, every message is received, and SENDs meet their
    // RECVs, as NCCL needs.
    EXPECT_TRUE(execute(lowered));
    EXPECT_TRUE(meets_everywhere(lowered));
    EXPECT_FALSE(find_own_messages(lowered, true, "nccl"));
  });
  EXPECT_GT(count, 800);
  EXPECT_FALSE(meets_everywhere(with_late_receives(lower(make_schedule("1f1b", 2, 4), false))));
}

TEST(ForwardOnly, RunsEachMicrobatchOncePerStageWithSafeMessages) {
  for (std::int32_t ranks = 1; ranks <= 5; ++ranks) {
    for (const Placement& placement :
         {Placement{ranks, 1, PlacementKind::loop}, Placement{ranks, 3, PlacementKind::loop},
          Placement{ranks, 2, PlacementKind::v}}) {
      for (const std::int32_t microbatches : {1, 2, 5, 7, 16}) {
        const Schedule schedule = forward_only(placement, microbatches);
        std::int64_t forwards = 0;
        for (const ActionList& list : schedule.ranks)
          forwards += std::ranges::count(list, ActionType::forward, &Action::type);
        EXPECT_EQ(forwards, placement.stages() * microbatches);
        EXPECT_TRUE(execute(schedule) && meets_everywhere(schedule))
            << ranks << " ranks, " << placement.chunks_per_rank << " stages each, " << microbatches;
      }
    }
  }
  Schedule without_a_receive = forward_only({2, 1, PlacementKind::loop}, 3);
  std::erase(without_a_receive.ranks[1], Action{1, ActionType::receive_forward, 1});
  EXPECT_FALSE(execute(without_a_receive));
  EXPECT_FALSE(meets_everywhere(without_a_receive));
}

}  // namespace
}  // namespace plumbline
