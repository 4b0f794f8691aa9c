// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/lowering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/message.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ActionList compute_actions(const ActionList& list) {
  ActionList found;
  for (const Action& action : list) {
    if (is_compute(action.type)) found.push_back(action);
  }
  return found;
}

TEST(Lower, TwoRanksWrittenOut) {
  const Schedule lowered = lower(make_schedule("1f1b", 2, 3), true);

  // RECV_F1 precedes 1B0 and RECV_F2 precedes 1B1, each at the time when rank 0 sends it: activations are in flight
  // while rank 1 runs backward.
  EXPECT_EQ(texts(lowered.ranks.at(0)),
            "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0F2 0SEND_F2 0RECV_B1 0B1 0RECV_B2 0B2 0REDUCE 0STEP");
  EXPECT_EQ(texts(lowered.ranks.at(1)),
            "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1B1 1SEND_B1 1F2 1B2 1SEND_B2 1REDUCE 1STEP");
}

TEST(Lower, OneRankSendsNothingAndReducesWhereItHasSeveralStages) {
  EXPECT_EQ(texts(lower(make_schedule("afab", 1, 2), true).ranks.at(0)), "0F0 0F1 0B0 0B1 0STEP");
  EXPECT_EQ(texts(lower(make_schedule("looped-bfs", 1, 1, 2), true).ranks.at(0)), "0F0 1F0 1B0 0B0 0REDUCE 0STEP");
}

TEST(Lower, OnlyEndsReduceAndOnlyWhenTied) {
  const Schedule tied = lower(make_schedule("1f1b", 3, 2), true);
  const Schedule untied = lower(make_schedule("1f1b", 3, 2), false);

  EXPECT_EQ(microbatches_of(tied.ranks.at(0), ActionType::reduce).size(), 1U);
  EXPECT_EQ(microbatches_of(tied.ranks.at(1), ActionType::reduce).size(), 0U);
  EXPECT_EQ(microbatches_of(tied.ranks.at(2), ActionType::reduce).size(), 1U);
  for (const ActionList& list : untied.ranks) EXPECT_TRUE(microbatches_of(list, ActionType::reduce).empty());
}

TEST(Lower, IsAcceptedByTheVerifierInEverySize) {
  for_each_schedule([](const Schedule& schedule) { EXPECT_TRUE(verify(lower(schedule, true)).empty()); });
}

TEST(Lower, KeepsTheComputeListAndEndsWithOneStep) {
  for_each_schedule([](const Schedule& schedule) {
    const Schedule lowered = lower(schedule, false);
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      EXPECT_EQ(compute_actions(lowered.ranks[rank]), schedule.ranks[rank]);
      EXPECT_EQ(lowered.ranks[rank].back().type, ActionType::step);
      EXPECT_EQ(microbatches_of(lowered.ranks[rank], ActionType::step).size(), 1U);
    }
  });
}

// Independent of the verifier: counts and orders of each channel, straight from the lists.
TEST(Lower, SendsAndReceivesAreABijectionInTheSameOrder) {
  for_each_schedule([](const Schedule& schedule) {
    const Schedule lowered = lower(schedule, true);
    for (std::size_t stage = 0; stage + 1 < lowered.ranks.size(); ++stage) {
      const ActionList& here = lowered.ranks[stage];
      const ActionList& next = lowered.ranks[stage + 1];
      EXPECT_EQ(microbatches_of(here, ActionType::send_forward), ascending(schedule));
      EXPECT_EQ(microbatches_of(next, ActionType::receive_forward), ascending(schedule));
      EXPECT_EQ(microbatches_of(next, ActionType::send_backward), ascending(schedule));
      EXPECT_EQ(microbatches_of(here, ActionType::receive_backward), ascending(schedule));
    }
    EXPECT_TRUE(microbatches_of(lowered.ranks.front(), ActionType::receive_forward).empty());
    EXPECT_TRUE(microbatches_of(lowered.ranks.back(), ActionType::send_forward).empty());
  });
}

// Independent of the verifier: each action follows what it depends on within its own list.
TEST(Lower, InputsComeBeforeAndSendsAfterTheirCompute) {
  for_each_schedule([](const Schedule& schedule) {
    const Schedule lowered = lower(schedule, false);
    for (std::int32_t s = 0; s < schedule.placement.ranks; ++s) {
      const ActionList& list = lowered.ranks[static_cast<std::size_t>(s)];
      const auto at = [&](ActionType type, std::int32_t m) {
        return std::find(list.begin(), list.end(), Action{s, type, m}) - list.begin();
      };
      for (std::int32_t m = 0; m < schedule.microbatches; ++m) {
        EXPECT_LT(at(ActionType::forward, m), at(ActionType::backward, m));
        if (s > 0) {
          EXPECT_LT(at(ActionType::receive_forward, m), at(ActionType::forward, m));
          EXPECT_GT(at(ActionType::send_backward, m), at(ActionType::backward, m));
        }
        if (s + 1 < schedule.placement.ranks) {
          EXPECT_GT(at(ActionType::send_forward, m), at(ActionType::forward, m));
          EXPECT_LT(at(ActionType::receive_backward, m), at(ActionType::backward, m));
        }
      }
    }
  });
}

TEST(Lower, SplitBackwardSendsAfterTheInputGradientAndChunksOfOneRankExchangeNoMessage) {
  const Schedule split = lower({"split", {2, 1}, 1, {actions("0F0 0B0"), actions("1F0 1I0 1W0")}}, false);
  EXPECT_EQ(texts(split.ranks.at(1)), "1RECV_F0 1F0 1I0 1SEND_B0 1W0 1STEP");
  const Schedule local = lower({"local", {1, 2}, 1, {actions("0F0 1F0 1B0 0B0")}}, false);
  EXPECT_EQ(texts(local.ranks.at(0)), "0F0 1F0 1B0 0B0 0STEP");
  for (const Schedule* lowered : {&split, &local}) EXPECT_TRUE(verify(*lowered).empty());
}

TEST(Lower, SeveralChunksPerRankUseTheRing) {
  const Schedule chunks{"chunks", {2, 2}, 1, {actions("0F0 2F0 2B0 0B0"), actions("1F0 3F0 3B0 1B0")}};

  const Schedule lowered = lower(chunks, true);

  EXPECT_EQ(texts(lowered.ranks.at(0)),
            "0F0 0SEND_F0 2RECV_F0 2F0 2SEND_F0 2RECV_B0 2B0 2SEND_B0 0RECV_B0 0B0 0REDUCE 0STEP");
  EXPECT_EQ(lowered.ranks.at(1).back(), (Action{1, ActionType::step, no_microbatch}));
  EXPECT_TRUE(verify(lowered).empty());
}

TEST(Lower, IsBlockingSafeForEveryGenerator) {
  for_each_generated([](const Schedule& schedule) { EXPECT_TRUE(verify(lower(schedule, true)).empty()); });
}

TEST(Lower, TheTurnOfAVHasNoMessage) {
  const Schedule lowered = lower(make_schedule("zb-v", 2, 1, 2), true);

  // Rank 1 holds stages 1 and 2: no message between them. Rank 0 holds both uses of a tied weight: one REDUCE in all.
  EXPECT_EQ(texts(lowered.ranks.at(1)), "1RECV_F0 1F0 2F0 2SEND_F0 2RECV_B0 2I0 2W0 1I0 1SEND_B0 1W0 1STEP");
  EXPECT_EQ(texts(lowered.ranks.at(0)), "0F0 0SEND_F0 3RECV_F0 3F0 3I0 3SEND_B0 3W0 0RECV_B0 0I0 0W0 0REDUCE 0STEP");
}

TEST(Lower, NamesTheActionInACycle) {
  // Rank 0 needs the gradient of microbatch 0 before it sends microbatch 1; rank 1 needs microbatch 1 before it runs
  // backward.
  const Schedule circle{"circle", {2, 1}, 2, {actions("0F0 0B0 0F1 0B1"), actions("1F0 1F1 1B0 1B1")}};

  EXPECT_THAT(message_of<InputError>([&] { lower(circle, false); }),
              AllOf(HasSubstr("rank 0, position 1, 0B0"), HasSubstr("the gradient of 1B0 on rank 1"),
                    HasSubstr("0B0 (rank 0, position 1) needs 1B0, before which rank 1 must get past 1F1 (rank 1, "
                              "position 1), which needs 0F1, before which rank 0 must get past 0B0")));
}

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

// What NCCL needs (own_messages.hpp).
TEST(Lower, SendsMeetTheirReceives) {
  int checked = 0;
  for_each_generated([&](const Schedule& schedule) {
    if (schedule.microbatches > 9) return;
    EXPECT_TRUE(meets_everywhere(lower(schedule, true))) << schedule.name;
    ++checked;
  });
  EXPECT_GT(checked, 400);
  EXPECT_FALSE(meets_everywhere(with_late_receives(lower(make_schedule("1f1b", 2, 4), false))));
}

}  // namespace
}  // namespace plumbline
