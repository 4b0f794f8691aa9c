// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "support/numbers.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The first divergence of conformance, which alone fails.
Finding expect_conformance_red(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  return verdict.first_divergence.value_or(Finding{});
}

TEST(Causality, AnEndBeforeItsStartIsToldOfItsRecordRankStepAndAction) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    auto& row = action_row(of_candidate ? cell.candidate : cell.reference, 1, "0F3");
    row.wait_ns = 0;
    row.end_ns = row.start_ns - 1;

    const auto found = expect_conformance_red(cell);

    EXPECT_THAT(found.words, HasSubstr("ends before"));
    EXPECT_EQ(found.item, "0F3");
    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.rank, 0);
    EXPECT_THAT(found.words, HasSubstr(of_candidate ? "candidate: step 1, rank 0" : "reference: step 1, rank 0"));
  }
}

TEST(Causality, AWaitLongerThanItsAction) {
  SyntheticCell cell;
  auto& row = action_row(cell.candidate, 1, "1F0");
  row.wait_ns = row.end_ns - row.start_ns + 1;

  EXPECT_THAT(expect_conformance_red(cell).words, HasSubstr("waits longer than it lasts"));
}

TEST(Causality, AnActionIssuedBeforeTheOneInFrontOfIt) {
  SyntheticCell cell;
  action_row(cell.candidate, 0, "1B1").start_ns = 5;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ElementsAre("conformance"));
}

TEST(Causality, TheNextStepBeforeTheLastHasEnded) {
  SyntheticCell cell;
  action_row(cell.candidate, 0, "0STEP").end_ns = action_row(cell.candidate, 1, "0F0").start_ns + 1;

  EXPECT_THAT(expect_conformance_red(cell).words, HasSubstr("to be issued after the last step's STEP"));
}

TEST(Causality, AReceiveThatEndsBeforeItsSendBegan) {
  SyntheticCell cell;
  auto& send = action_row(cell.candidate, 1, "0SEND_F2");
  const auto received = action_row(cell.candidate, 1, "1RECV_F2").end_ns;
  send.start_ns = received + 1;
  send.end_ns = send.start_ns + 10;

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("1RECV_F2"));

  cell.candidate.manifest["clock_skew_ns"] = 1e9;
  std::filesystem::remove_all(cell.folder / "reference");
  std::filesystem::remove_all(cell.folder / "candidate");
  EXPECT_THAT(result_of(cell.judge(), "conformance").reason, ::testing::Not(HasSubstr("an end after the start of")))
      << "within the skew that clocks are known to have";
}

TEST(Causality, AComputationThatDidNotWaitForItsReceive) {
  SyntheticCell cell;
  action_row(cell.candidate, 1, "1F2").wait_ns = 0;

  const auto found = expect_conformance_red(cell);

  EXPECT_EQ(found.item, "1F2");
  EXPECT_THAT(found.words, HasSubstr("expected to compute after 1RECV_F2 has ended"));
}

TEST(Causality, AnUpdateBeforeAllRanksHaveComputed) {
  SyntheticCell cell;
  auto& row = action_row(cell.candidate, 1, "1STEP");
  row.end_ns = row.start_ns + 1;

  const auto found = expect_conformance_red(cell);

  EXPECT_EQ(found.item, "1STEP");
  EXPECT_THAT(found.words, HasSubstr("whose gradient its norm needs"));
}

TEST(Causality, AStepShorterThanItsActions) {
  SyntheticCell cell;
  cell.reference.ranks[0].steps[1].seconds = 1e-9;

  EXPECT_EQ(expect_conformance_red(cell).item, "seconds");
}

TEST(Causality, ClocksThatNobodyComparedTellNothingBetweenRanks) {
  SyntheticCell cell;
  cell.candidate.manifest["clock_skew_ns"] = nullptr;
  for (auto& row : cell.candidate.ranks[1].actions) {
    row.start_ns += 500'000'000;
    row.end_ns += 500'000'000;
  }

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("not inspected: times of the candidate's ranks"));
}

TEST(Causality, TimesOfLaunchesOnAGpuTellNothing) {
  SyntheticPlan plan;
  plan.device = "cuda";
  SyntheticCell cell(plan);
  action_row(cell.candidate, 1, "1F2").wait_ns = 0;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ::testing::Not(Contains("conformance")));
}

struct CellOfGpus : SyntheticCell {
  CellOfGpus() : SyntheticCell(plan()) {
    reference.manifest["action_times"] = "gpu";
    candidate.manifest["action_times"] = "gpu";
  }
  static SyntheticPlan plan() {
    SyntheticPlan made;
    made.device = "cuda";
    return made;
  }
};

TEST(Causality, TimesThatGpusTookAreJudged) {
  CellOfGpus right;
  EXPECT_THAT(with_outcome(right.judge(), Outcome::fails), ::testing::Not(Contains("conformance")));

  CellOfGpus cell;
  action_row(cell.candidate, 1, "1F2").wait_ns = 0;
  const auto verdict = cell.judge();
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), Contains("conformance"));
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("to compute after 1RECV_F2 has ended"));
}

TEST(Causality, OnAGpuAMessageIsIssuedWhileTheComputationInFrontOfItWaitsForItsTurn) {
  CellOfGpus cell;
  auto& send = action_row(cell.candidate, 1, "0SEND_F2");
  const auto& forward = action_row(cell.candidate, 1, "0F2");
  ASSERT_LE(forward.start_ns, send.start_ns);
  send.start_ns = forward.start_ns - 1;

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::fails), ::testing::Not(Contains("conformance")));

  CellOfGpus computations;
  action_row(computations.candidate, 0, "1B1").start_ns = 5;
  EXPECT_THAT(with_outcome(computations.judge(), Outcome::fails), Contains("conformance"));
}

TEST(Causality, TheReferenceTakesOneMicrobatchAfterTheOther) {
  SyntheticCell cell;
  auto &first = action_row(cell.reference, 1, "0F1"), &second = action_row(cell.reference, 1, "0B0");
  std::swap(first.action, second.action);
  std::swap(first.microbatch, second.microbatch);
  std::swap(first.peak_bytes, second.peak_bytes);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), Contains("conformance"));
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("reference: step 1, rank 0, action 1"));
}

Outcome conformance_of(SyntheticCell& cell) {
  const auto conformance = result_of(cell.judge(), "conformance");
  EXPECT_TRUE(conformance.outcome == Outcome::holds || conformance.outcome == Outcome::fails) << conformance.reason;
  return conformance.outcome;
}

TEST(Causality, AGradientThatArrivesBeforeItWasSent) {
  SyntheticCell cell;
  action_row(cell.candidate, 1, "1SEND_B2").start_ns = action_row(cell.candidate, 1, "0RECV_B2").end_ns + 1;
  action_row(cell.candidate, 1, "1SEND_B2").end_ns = action_row(cell.candidate, 1, "0RECV_B2").end_ns + 10;

  EXPECT_THAT(result_of(cell.judge(), "conformance").reason, HasSubstr("0RECV_B2"));
}

TEST(Causality, AReceiveMayEndAsItsSendBeginsAndNoSooner) {
  for (const std::int64_t sooner : {0, 1}) {
    SyntheticCell cell;
    auto& receive = action_row(cell.candidate, 0, "1RECV_F0");
    receive.end_ns = action_row(cell.candidate, 0, "0SEND_F0").start_ns - sooner;
    ASSERT_LE(receive.start_ns, receive.end_ns);

    const auto conformance = result_of(cell.judge(), "conformance");

    EXPECT_EQ(conformance.outcome, sooner == 0 ? Outcome::holds : Outcome::fails) << conformance.reason;
    EXPECT_EQ(conformance.first_divergence.value_or(Finding{}).item, sooner == 0 ? "" : "1RECV_F0");
  }
}

TEST(Causality, AnActionMayTakeNoTimeAndWaitAllOfItsTime) {
  SyntheticCell no_time, waiting;
  auto& row = action_row(no_time.candidate, 1, "0F3");
  row.wait_ns = 0;
  row.end_ns = row.start_ns;
  auto& waited = action_row(waiting.candidate, 1, "1F0");
  waited.wait_ns = waited.end_ns - waited.start_ns;

  EXPECT_EQ(conformance_of(no_time), Outcome::holds);
  EXPECT_EQ(conformance_of(waiting), Outcome::holds);
}

TEST(Causality, AComputationMayBeginAsTheOneInFrontOfItEnds) {
  SyntheticCell cell;
  action_row(cell.candidate, 1, "0F0").end_ns = action_row(cell.candidate, 1, "0F1").start_ns;

  EXPECT_EQ(conformance_of(cell), Outcome::holds);
}

TEST(Causality, OnACpuAMessageIsIssuedBehindTheComputationInFrontOfIt) {
  SyntheticCell cell;
  action_row(cell.candidate, 1, "0SEND_F2").start_ns = action_row(cell.candidate, 1, "0F2").start_ns - 1;

  const auto found = expect_conformance_red(cell);

  EXPECT_EQ(found.item, "0SEND_F2");
  EXPECT_EQ(found.expected, "to be issued after 0F2");
  EXPECT_EQ(found.step, 1);
}

TEST(Causality, OnAGpuAComputationNeedNotWaitForAMessageInFrontOfIt) {
  CellOfGpus cell;
  auto& send = action_row(cell.candidate, 1, "0SEND_F0");
  send.start_ns = action_row(cell.candidate, 1, "0F1").start_ns + 1;
  ASSERT_LE(send.start_ns, send.end_ns);
  ASSERT_LE(send.start_ns, action_row(cell.candidate, 1, "1RECV_F0").end_ns);

  EXPECT_EQ(conformance_of(cell), Outcome::holds);
}

TEST(Causality, OnAGpuTheUpdateIsIssuedBehindTheComputationsToo) {
  CellOfGpus cell;
  action_row(cell.candidate, 1, "0STEP").start_ns = action_row(cell.candidate, 1, "0B4").start_ns - 1;

  const auto found = result_of(cell.judge(), "conformance").first_divergence.value();

  EXPECT_EQ(found.item, "0STEP");
  EXPECT_THAT(found.expected, HasSubstr("to be issued after "));
}

TEST(Causality, NothingStandsBehindTheUpdate) {
  SyntheticCell cell;
  ActionRow row = action_row(cell.candidate, 1, "0STEP");
  row.index += 1;
  row.action = "0REDUCE";
  cell.candidate.ranks[0].actions.push_back(row);
  cell.candidate.ranks[0].exit->last_action = row.action;

  const auto found = result_of(cell.judge(), "conformance").first_divergence.value();

  EXPECT_EQ(found.expected, "no action after 0STEP");
  EXPECT_EQ(found.item, "0REDUCE");
  EXPECT_EQ(found.step, 1);
}

TEST(Causality, SecondsThatAnExternalTrainerDoesNotTellAreNotDemanded) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  for (auto& rank : cell.candidate.ranks) {
    for (auto& row : rank.steps) row.seconds.reset();
  }

  EXPECT_EQ(conformance_of(cell), Outcome::holds);
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

    const auto conformance = result_of(cell.judge(), "conformance");

    EXPECT_EQ(conformance.outcome, shorter < 500 ? Outcome::holds : Outcome::fails) << conformance.reason;
    if (shorter < 500) continue;
    EXPECT_EQ(conformance.first_divergence->expected, "at least " + to_text(static_cast<double>(span) * 1e-9));
    EXPECT_EQ(conformance.first_divergence->step, 1);
    EXPECT_EQ(conformance.first_divergence->rank, 0);
  }
}

TEST(Causality, OfAMessageThatNobodySaysToHaveSentNoTimeIsDemanded) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[0].actions,
                [](const ActionRow& row) { return row.step == 1 && row.action == "0SEND_F2"; });
  for (ActionRow& row : cell.candidate.ranks[0].actions) row.index -= row.step == 1 && row.index > 7 ? 1 : 0;

  EXPECT_EQ(result_of(cell.judge(), "conformance").first_divergence.value().expected, "0SEND_F2");
}

TEST(Causality, AComputationThatWaitedEndsNoSoonerThanItsReceive) {
  for (const std::int64_t later : {0, 1}) {
    SyntheticCell cell;
    const ActionRow& forward = action_row(cell.candidate, 0, "1F0");
    ASSERT_GT(forward.wait_ns, 1) << "what it waits for comes behind its start";
    action_row(cell.candidate, 0, "1RECV_F0").end_ns = forward.end_ns + later;

    const auto conformance = result_of(cell.judge(), "conformance");

    EXPECT_EQ(conformance.outcome, later == 0 ? Outcome::holds : Outcome::fails) << conformance.reason;
    EXPECT_EQ(conformance.first_divergence.value_or(Finding{}).item, later == 0 ? "" : "1F0");
  }
}

TEST(Causality, AComputationThatBeginsAsItsReceiveEndsNeedsNoWait) {
  SyntheticCell cell;
  ActionRow& forward = action_row(cell.candidate, 1, "1F3");
  ASSERT_EQ(forward.wait_ns, 1) << "what it needs had come before its start";
  forward.wait_ns = 0;
  action_row(cell.candidate, 1, "1RECV_F3").end_ns = forward.start_ns;

  EXPECT_EQ(conformance_of(cell), Outcome::holds);
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

    const auto verdict = cell.judge();
    const auto& conformance = result_of(verdict, "conformance");

    EXPECT_EQ(conformance.outcome, external ? Outcome::holds : Outcome::fails) << conformance.reason;
    if (!external) continue;
    EXPECT_THAT(conformance.reason,
                ::testing::StartsWith("candidate: timestamps of ranks 0 and 1 contradict each other by 1."));
    EXPECT_THAT(conformance.not_shown, Contains(HasSubstr("the order across ranks was not judged")));
  }
}

// Another program may sum its norm in any way, and need not have it before a rank's update ends.
TEST(Causality, AnExternalTrainersUpdateMayEndBeforeAllRanksHaveComputed) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  ActionRow& row = action_row(cell.candidate, 1, "1STEP");
  row.end_ns = row.start_ns + 1;

  EXPECT_EQ(conformance_of(cell), Outcome::holds);
}

TEST(Causality, WhatClocksTellIsCountedAndNothingLeftOut) {
  SyntheticCell cell;
  std::int64_t rows = 0, receives = 0;
  for (const auto* run : {&cell.reference, &cell.candidate}) {
    for (const auto& rank : run->ranks) {
      rows += std::ssize(rank.actions);
      for (const auto& row : rank.actions) receives += row.action.find("RECV") == std::string::npos ? 0 : 1;
    }
  }

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

TEST(Causality, TimesOfLaunchesAreLeftOutOfBothRecords) {
  SyntheticPlan plan;
  plan.device = "cuda";
  SyntheticCell cell(plan);

  const std::string reason = result_of(cell.judge(), "conformance").reason;

  EXPECT_THAT(reason, HasSubstr("the reference's times (those of launches on a GPU)"));
  EXPECT_THAT(reason, HasSubstr("the candidate's times (those of launches on a GPU)"));
}

TEST(Causality, AStepWhoseActionsTakeNoTimeIsFound) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    for (auto& rank : (of_candidate ? cell.candidate : cell.reference).ranks) {
      for (auto& row : rank.actions)
        if (row.step == 0) row.start_ns = row.end_ns = 5, row.wait_ns = 0;
    }

    const std::string whose = of_candidate ? "candidate" : "reference";
    EXPECT_THAT(result_of(cell.judge(), "conformance").reason,
                HasSubstr(whose + ": step 0, rank 0, actions: all actions of the step begin and end at 5 ns"));
  }
}

}  // namespace
}  // namespace plumbline::testing
