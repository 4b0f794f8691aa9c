#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The first divergence of conformance, which alone fails.
FirstDivergence expect_conformance_red(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("conformance"));
  return verdict.first_divergence.value_or(FirstDivergence{});
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
    EXPECT_THAT(found.words, HasSubstr(of_candidate ? "candidate, rank 0, step 1" : "reference, rank 0, step 1"));
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
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("not looked at: times of the candidate's ranks"));
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
  EXPECT_THAT(result_of(verdict, "conformance").reason, HasSubstr("reference, rank 0, step 1, action 1"));
}

}  // namespace
}  // namespace plumbline::testing
