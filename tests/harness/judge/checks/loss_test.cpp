// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<float>& loss(SyntheticRun& run, std::int64_t step, std::int64_t microbatch) {
  for (auto& row : run.ranks.back().microbatches) {
    if (row.step == step && row.microbatch == microbatch) return row.loss;
  }
  throw std::logic_error("no such microbatch");
}

void expect_loss_red(SyntheticCell& cell, std::int64_t step, std::optional<std::int64_t> microbatch,
                     const std::string& words) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("loss"));
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->level, "R1");
  EXPECT_EQ(verdict.first_divergence->step, step);
  EXPECT_EQ(verdict.first_divergence->microbatch, microbatch);
  EXPECT_THAT(verdict.first_divergence->words, HasSubstr(words));
}

TEST(Loss, OneUlpInOneMicrobatch) {
  SyntheticCell cell;
  auto& value = loss(cell.candidate, 1, 3);
  value = std::nextafter(*value, 10.0F);
  expect_loss_red(cell, 1, 3, "loss of the microbatch");
}

TEST(Loss, DividedByTheMicrobatchesInOneRunOnlyItSaysSo) {
  for (const bool in_candidate : {true, false}) {
    SyntheticCell cell;
    for (const std::int64_t m : {0, 1, 2, 3, 4}) *loss(in_candidate ? cell.candidate : cell.reference, 0, m) /= 5;

    EXPECT_THAT(cell.judge().first_divergence.value().size,
                HasSubstr(in_candidate ? "the reference's is 5 times the other, as many as there are microbatches"
                                       : "the candidate's is 5 times the other, as many as there are microbatches"));
  }
  SyntheticCell other_factor;
  *loss(other_factor.candidate, 0, 0) *= 4;
  EXPECT_EQ(other_factor.judge().first_divergence.value().size, "");
}

TEST(Loss, OneUlpInTheStep) {
  SyntheticCell cell;
  auto& value = cell.candidate.ranks[1].steps[0].loss;
  value = std::nextafter(*value, 0.0F);
  expect_loss_red(cell, 0, std::nullopt, "loss of the step");
}

TEST(Loss, MinusZeroIsNotZero) {
  SyntheticCell cell;
  loss(cell.candidate, 0, 4) = -0.0F;
  expect_loss_red(cell, 0, 4, "(expected 0, got -0)");
}

TEST(Loss, NanInBothRecordsFailsAndIsNamed) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) loss(*run, 1, 2) = std::numeric_limits<float>::quiet_NaN();
  expect_loss_red(cell, 1, 2, "loss of the microbatch: the reference itself (expected a finite loss, got nan)");
}

TEST(Loss, InfinityInTheCandidate) {
  SyntheticCell cell;
  loss(cell.candidate, 0, 0) = std::numeric_limits<float>::infinity();
  expect_loss_red(cell, 0, 0, "loss of the microbatch: not finite (expected 0.6, got inf)");
}

TEST(Loss, NoRankWithTheLoss) {
  SyntheticCell cell;
  loss(cell.candidate, 0, 1).reset();
  expect_loss_red(cell, 0, 1, "one rank with the loss");
}

TEST(Loss, TwoRanksWithTheLoss) {
  SyntheticCell cell;
  for (auto& row : cell.candidate.ranks[0].microbatches) {
    if (row.step == 0 && row.microbatch == 1) row.loss = loss(cell.candidate, 0, 1);
  }
  expect_loss_red(cell, 0, 1, "(expected one rank with the loss, got 2)");
}

TEST(Loss, StepThatIsNotTheSumInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) *run->ranks.back().steps[1].loss += 1e-4F;
  expect_loss_red(cell, 1, std::nullopt, "not the sum over the microbatches");
}

TEST(Loss, EachRecordIsHeldToItsOwnSum) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) *run->ranks.back().steps[1].loss += 1e-4F;
  EXPECT_THAT(result_of(cell.judge(), "loss").reason, HasSubstr("2 differences in all"));
}

TEST(Loss, TwoRanksWithTheLossInAReferenceThatIsAPipeline) {
  SyntheticCell cell;
  cell.reference = synthetic_candidate({});
  cell.reference.manifest["run_id"] = new_run_id();
  for (auto& rank : cell.reference.ranks) {
    for (auto& row : rank.actions) row.end_ns += 1;  // no copy of the candidate
  }
  for (auto& row : cell.reference.ranks[0].microbatches) {
    if (row.step == 0 && row.microbatch == 1) row.loss = loss(cell.reference, 0, 1);
  }
  EXPECT_THAT(result_of(cell.judge(), "loss").reason,
              HasSubstr("step 0, microbatch 1, stage 1, loss of the microbatch: of the reference"));
}

TEST(Loss, WithoutALossNoSumIsToldToBeWrong) {
  SyntheticCell cell;
  loss(cell.candidate, 0, 1).reset();
  EXPECT_THAT(result_of(cell.judge(), "loss").reason, ::testing::Not(HasSubstr("loss of the step")));
}

/// In both records, with the step's loss their sum.
void set_losses(SyntheticCell& cell, float first, float masked) {
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    loss(*run, 0, 0) = first;
    loss(*run, 0, 4) = masked;
    float sum = 0;
    for (const std::int64_t m : {0, 1, 2, 3, 4}) sum += *loss(*run, 0, m);
    run->ranks.back().steps[0].loss = sum;
  }
}

TEST(Loss, OfAMicrobatchWithoutAValidTokenIsZeroInBothRecords) {
  SyntheticCell cell;
  set_losses(cell, 0.5F, 0.25F);
  expect_loss_red(cell, 0, 4, "(expected 0, without a valid token, got 0.25)");
}

TEST(Loss, OfAMicrobatchWithoutAValidTokenMayBeMinusZero) {
  SyntheticCell cell;
  set_losses(cell, 0.5F, -0.0F);
  EXPECT_TRUE(cell.judge().holds);
}

TEST(Loss, BelowZeroInBothRecordsIsNoCrossEntropy) {
  SyntheticCell cell;
  set_losses(cell, -0.5F, 0);
  expect_loss_red(cell, 0, 0, "(expected a cross-entropy, which is never below 0, got -0.5)");
}

}  // namespace
}  // namespace plumbline::testing
