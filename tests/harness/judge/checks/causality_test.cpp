// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "support/numbers.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Causality, AnEndBeforeItsStartIsToldOfItsRecordRankStepAndAction) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    auto& row = action_row(of_candidate ? cell.candidate : cell.reference, 1, "0F3");
    row.wait_ns = 0;
    row.end_ns = row.start_ns - 1;

    const auto found = expect_red(cell, {"conformance"}, {.step = 1, .rank = 0, .item = "0F3", .words = "ends before"});
    EXPECT_THAT(found.words, HasSubstr(of_candidate ? "candidate: step 1, rank 0" : "reference: step 1, rank 0"));
  }
}

TEST(Causality, EachTimeThatCannotBeIsToldOfItsAction) {
  expect_each_red(
      {"conformance"},
      {{"a wait longer than its action",
        [](auto& cell) {
          auto& row = action_row(cell.candidate, 1, "1F0");
          row.wait_ns = row.end_ns - row.start_ns + 1;
        },
        {.words = "waits longer than it lasts"}},
       {"issued before the one in front of it", [](auto& cell) { action_row(cell.candidate, 0, "1B1").start_ns = 5; }},
       {"the next step before the last has ended",
        [](auto& cell) {
          action_row(cell.candidate, 0, "0STEP").end_ns = action_row(cell.candidate, 1, "0F0").start_ns + 1;
        },
        {.words = "to be issued after the last step's STEP"}},
       {"a computation that did not wait for its receive",
        [](auto& cell) { action_row(cell.candidate, 1, "1F2").wait_ns = 0; },
        {.item = "1F2", .words = "expected to compute after 1RECV_F2 has ended"}},
       {"an update before all ranks have computed",
        [](auto& cell) {
          auto& row = action_row(cell.candidate, 1, "1STEP");
          row.end_ns = row.start_ns + 1;
        },
        {.item = "1STEP", .words = "whose gradient its norm needs"}},
       {"a step shorter than its actions",
        [](auto& cell) { cell.reference.ranks[0].steps[1].seconds = 1e-9; },
        {.item = "seconds"}},
       {"a message before the computation in front of it",
        [](auto& cell) {
          action_row(cell.candidate, 1, "0SEND_F2").start_ns = action_row(cell.candidate, 1, "0F2").start_ns - 1;
        },
        {.step = 1, .item = "0SEND_F2", .expected = "to be issued after 0F2"}}});
}

TEST(Causality, AMessageThatArrivesBeforeItWasSentIsRedBeyondTheSkewOfTheClocks) {
  for (const auto& [sent, received] : {std::pair{"0SEND_F2", "1RECV_F2"}, {"1SEND_B2", "0RECV_B2"}}) {
    for (const bool within_skew : {false, true}) {
      SyntheticCell cell;
      auto& send = action_row(cell.candidate, 1, sent);
      send.start_ns = action_row(cell.candidate, 1, received).end_ns + 1;
      send.end_ns = send.start_ns + 10;
      if (within_skew) cell.candidate.manifest["clock_skew_ns"] = 1e9;
      const std::string reason = result_of(cell.judge(), "conformance").reason;
      EXPECT_EQ(reason.find("an end after the start of") == std::string::npos, within_skew) << reason;
      EXPECT_TRUE(within_skew || reason.find(received) != std::string::npos) << reason;
    }
  }
}

TEST(Causality, ClocksThatNobodyComparedTellNothingBetweenRanks) {
  SyntheticCell cell;
  cell.candidate.manifest["clock_skew_ns"] = nullptr;
  for (auto& row : cell.candidate.ranks[1].actions) row.start_ns += 500'000'000, row.end_ns += 500'000'000;

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("not inspected: times of the candidate's ranks"));
}

struct CellOfGpus : SyntheticCell {
  CellOfGpus() : SyntheticCell({.device = "cuda"}) {
    reference.manifest["action_times"] = "gpu";
    candidate.manifest["action_times"] = "gpu";
  }
};

TEST(Causality, TimesThatGpusTookAreJudged) {
  CellOfGpus right, cell;
  action_row(cell.candidate, 1, "1F2").wait_ns = 0;

  expect_outcome(right, "conformance", Outcome::holds);
  expect_fails(cell, "conformance", {.words = "to compute after 1RECV_F2 has ended"});
}

TEST(Causality, OnAGpuAMessageIsIssuedWhileTheComputationInFrontOfItWaitsForItsTurn) {
  CellOfGpus cell;
  auto& send = action_row(cell.candidate, 1, "0SEND_F2");
  const auto& forward = action_row(cell.candidate, 1, "0F2");
  ASSERT_LE(forward.start_ns, send.start_ns);
  send.start_ns = forward.start_ns - 1;

  expect_outcome(cell, "conformance", Outcome::holds);

  CellOfGpus computations;
  action_row(computations.candidate, 0, "1B1").start_ns = 5;
  expect_fails(computations, "conformance");
}

TEST(Causality, TheReferenceTakesOneMicrobatchAfterTheOther) {
  SyntheticCell cell;
  auto &first = action_row(cell.reference, 1, "0F1"), &second = action_row(cell.reference, 1, "0B0");
  std::swap(first.action, second.action);
  std::swap(first.microbatch, second.microbatch);
  std::swap(first.peak_bytes, second.peak_bytes);
  expect_fails(cell, "conformance", {.words = "reference: step 1, rank 0, action 1"});
}

TEST(Causality, AReceiveMayEndAsItsSendBeginsAndNoSooner) {
  for (const std::int64_t sooner : {0, 1}) {
    SyntheticCell cell;
    auto& receive = action_row(cell.candidate, 0, "1RECV_F0");
    receive.end_ns = action_row(cell.candidate, 0, "0SEND_F0").start_ns - sooner;
    ASSERT_LE(receive.start_ns, receive.end_ns);

    const auto conformance = expect_outcome(cell, "conformance", sooner == 0 ? Outcome::holds : Outcome::differs);
    EXPECT_EQ(conformance.first_divergence.value_or(Finding{}).item, sooner == 0 ? "" : "1RECV_F0");
  }
}

TEST(Causality, TimesThatJustMayBeHold) {
  expect_each_holds(
      "conformance",
      {{"no time at all",
        [](auto& cell) {
          auto& row = action_row(cell.candidate, 1, "0F3");
          row.wait_ns = 0;
          row.end_ns = row.start_ns;
        }},
       {"a wait of all its time",
        [](auto& cell) {
          auto& row = action_row(cell.candidate, 1, "1F0");
          row.wait_ns = row.end_ns - row.start_ns;
        }},
       {"an end as the next begins",
        [](auto& cell) {
          action_row(cell.candidate, 1, "0F0").end_ns = action_row(cell.candidate, 1, "0F1").start_ns;
        }},
       {"no wait for a receive that ends as it begins",
        [](auto& cell) {
          ActionRow& forward = action_row(cell.candidate, 1, "1F3");
          ASSERT_EQ(forward.wait_ns, 1) << "what it needs had come before its start";
          forward.wait_ns = 0;
          action_row(cell.candidate, 1, "1RECV_F3").end_ns = forward.start_ns;
        }},
       {"of an external trainer: no seconds",
        [](auto& cell) {
          cell.candidate.manifest["role"] = "external";
          for (StepRow& row : cell.candidate.rows(&RankRecord::steps)) row.seconds.reset();
        }},
       {"of an external trainer, which may sum its norm in any way: an update before all ranks have computed",
        [](auto& cell) {
          cell.candidate.manifest["role"] = "external";
          ActionRow& row = action_row(cell.candidate, 1, "1STEP");
          row.end_ns = row.start_ns + 1;
        }}});
}

TEST(Causality, OnAGpuAComputationNeedNotWaitForAMessageInFrontOfIt) {
  CellOfGpus cell;
  auto& send = action_row(cell.candidate, 1, "0SEND_F0");
  send.start_ns = action_row(cell.candidate, 1, "0F1").start_ns + 1;
  ASSERT_LE(send.start_ns, send.end_ns);
  ASSERT_LE(send.start_ns, action_row(cell.candidate, 1, "1RECV_F0").end_ns);

  expect_outcome(cell, "conformance", Outcome::holds);
}

TEST(Causality, OnAGpuTheUpdateIsIssuedBehindTheComputationsToo) {
  CellOfGpus cell;
  action_row(cell.candidate, 1, "0STEP").start_ns = action_row(cell.candidate, 1, "0B4").start_ns - 1;

  const auto found = expect_fails(cell, "conformance", {.item = "0STEP"});
  EXPECT_THAT(found.expected, HasSubstr("to be issued after "));
}

TEST(Causality, RowsThatTheListDoesNotHaveOrLacksAreTold) {
  expect_each_fails("conformance", {{"an action behind the update",
                                     [](auto& cell) {
                                       ActionRow row = action_row(cell.candidate, 1, "0STEP");
                                       row.index += 1;
                                       row.action = "0REDUCE";
                                       cell.candidate.ranks[0].actions.push_back(row);
                                       cell.candidate.ranks[0].exit->last_action = row.action;
                                     },
                                     {.step = 1, .item = "0REDUCE", .expected = "no action after 0STEP"}},
                                    {"a message that nobody says to have sent",
                                     [](auto& cell) {
                                       auto& rows = cell.candidate.ranks[0].actions;
                                       std::erase_if(rows, [](const ActionRow& row) {
                                         return row.step == 1 && row.action == "0SEND_F2";
                                       });
                                       for (ActionRow& row : rows) row.index -= row.step == 1 && row.index > 7 ? 1 : 0;
                                     },
                                     {.expected = "0SEND_F2"}}});
}

// Seconds are written in text, of which half a microsecond may be rounded away.
TEST(Causality, AStepMayBeHalfAMicrosecondShorterThanItsActions) {
  for (const std::int64_t shorter : {400, 600}) {
    SyntheticCell cell;
    const auto& rows = cell.candidate.ranks[0].actions;
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const ActionRow& row : rows) {
      if (row.step != 1) continue;
      first = std::min(first, row.start_ns);
      last = std::max(last, row.end_ns);
    }
    const std::int64_t span = last - first;
    cell.candidate.ranks[0].steps[1].seconds = static_cast<double>(span - shorter) * 1e-9;

    const auto conformance = expect_outcome(cell, "conformance", shorter < 500 ? Outcome::holds : Outcome::differs);
    if (shorter < 500) continue;
    expect_finding(*conformance.first_divergence,
                   {.step = 1, .rank = 0, .expected = "at least " + to_text(static_cast<double>(span) * 1e-9)});
  }
}

TEST(Causality, AComputationThatWaitedEndsNoSoonerThanItsReceive) {
  for (const std::int64_t later : {0, 1}) {
    SyntheticCell cell;
    const ActionRow& forward = action_row(cell.candidate, 0, "1F0");
    ASSERT_GT(forward.wait_ns, 1) << "what it waits for comes behind its start";
    action_row(cell.candidate, 0, "1RECV_F0").end_ns = forward.end_ns + later;

    const auto conformance = expect_outcome(cell, "conformance", later == 0 ? Outcome::holds : Outcome::differs);
    EXPECT_EQ(conformance.first_divergence.value_or(Finding{}).item, later == 0 ? "" : "1F0");
  }
}

// Late stamping makes a receive end before its send began: of ours that is wrong, of others their clocks are.
TEST(Causality, RanksOfAnExternalRecordThatContradictEachOtherHaveBadClocks) {
  for (const bool external : {true, false}) {
    SyntheticCell cell;
    if (external) cell.candidate.manifest["role"] = "external";
    for (auto& rank : cell.candidate.ranks) {
      for (auto& row : rank.actions) {
        const std::int64_t by = rank.rank == 0 ? 10'000'000 : 8'800'000;
        row.start_ns += by, row.end_ns += by;
      }
    }

    const auto conformance = expect_outcome(cell, "conformance", external ? Outcome::holds : Outcome::differs);
    if (!external) continue;
    EXPECT_THAT(conformance.reason,
                ::testing::StartsWith("candidate: timestamps of ranks 0 and 1 contradict each other by 1."));
    EXPECT_THAT(conformance.not_shown, Contains(HasSubstr("the order across ranks was not judged")));
  }
}

TEST(Causality, WhatClocksTellIsCountedAndNothingLeftOut) {
  SyntheticCell cell;
  std::int64_t rows = 0, receives = 0;
  for (const ActionRow& row : cell.rows(&RankRecord::actions))
    rows += 1, receives += row.action.find("RECV") == std::string::npos ? 0 : 1;

  const auto conformance = result_of(cell.judge(), "conformance");

  EXPECT_EQ(conformance.inspected.at("times"), rows);
  EXPECT_EQ(conformance.inspected.at("messages"), receives);
  EXPECT_THAT(conformance.reason, ::testing::Not(HasSubstr("not inspected")));
}

TEST(Causality, TheOneClockOfOneRankNeedsNoComparison) {
  SyntheticCell cell;
  cell.reference.manifest["clock_skew_ns"] = nullptr;

  EXPECT_THAT(result_of(cell.judge(), "conformance").reason, ::testing::Not(HasSubstr("not inspected")));
}

TEST(Causality, TimesOfLaunchesOnAGpuTellNothingInBothRecords) {
  SyntheticCell cell({.device = "cuda"});
  action_row(cell.candidate, 1, "1F2").wait_ns = 0;

  const auto conformance = result_of(cell.judge(), "conformance");

  EXPECT_NE(conformance.outcome, Outcome::differs);
  EXPECT_THAT(conformance.reason, HasSubstr("the reference's times (those of launches on a GPU)"));
  EXPECT_THAT(conformance.reason, HasSubstr("the candidate's times (those of launches on a GPU)"));
}

TEST(Causality, AStepWhoseActionsTakeNoTimeIsFound) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    for (ActionRow& row : (of_candidate ? cell.candidate : cell.reference).rows(&RankRecord::actions))
      if (row.step == 0) row.start_ns = row.end_ns = 5, row.wait_ns = 0;

    const std::string whose = of_candidate ? "candidate" : "reference";
    EXPECT_THAT(result_of(cell.judge(), "conformance").reason,
                HasSubstr(whose + ": step 0, rank 0, actions: all actions of the step begin and end at 5 ns"));
  }
}

}  // namespace
}  // namespace plumbline::testing
