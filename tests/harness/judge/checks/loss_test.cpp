// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

std::optional<float>& loss(SyntheticRun& run, std::int64_t step, std::int64_t microbatch) {
  for (auto& row : run.ranks.back().microbatches) {
    if (row.step == step && row.microbatch == microbatch) return row.loss;
  }
  throw std::logic_error("no such microbatch");
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

TEST(Loss, DividedByTheMicrobatchesInOneRunOnlyItSaysSo) {
  for (const bool in_candidate : {true, false}) {
    SyntheticCell cell;
    for (const std::int64_t m : {0, 1, 2, 3, 4}) *loss(in_candidate ? cell.candidate : cell.reference, 0, m) /= 5;

    EXPECT_THAT(cell.judge().first_divergence.value().size,
                HasSubstr(in_candidate ? "all losses of step 0 are 1/5 of the reference's: as many as microbatches"
                                       : "all losses of step 0 are 5 times the reference's: as many as microbatches"));
  }
  SyntheticCell other_factor;
  *loss(other_factor.candidate, 0, 0) *= 4;
  EXPECT_EQ(other_factor.judge().first_divergence.value().size, "");
}

TEST(Loss, EachWayInWhichOneIsWrongIsTold) {
  expect_each_red(
      {"loss"},
      {{"one ULP in one microbatch",
        [](auto& cell) {
          auto& value = loss(cell.candidate, 1, 3);
          value = std::nextafter(*value, 10.0F);
        },
        {.level = "R1", .step = 1, .microbatch = 3, .words = "loss of the microbatch"}},
       {"one ULP in the step",
        [](auto& cell) {
          auto& value = cell.candidate.ranks[1].steps[0].loss;
          value = std::nextafter(*value, 0.0F);
        },
        {.step = 0, .words = "step 0, stage 1, rank 1, loss of the step"}},
       {"minus zero",
        [](auto& cell) { loss(cell.candidate, 0, 4) = -0.0F; },
        {.step = 0, .microbatch = 4, .words = "(expected 0, got -0)"}},
       {"NaN in both records",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate})
            loss(*run, 1, 2) = std::numeric_limits<float>::quiet_NaN();
        },
        {.step = 1,
         .microbatch = 2,
         .words = "loss of the microbatch: the reference itself (expected a finite loss, got nan)"}},
       {"infinity in the candidate",
        [](auto& cell) { loss(cell.candidate, 0, 0) = std::numeric_limits<float>::infinity(); },
        {.step = 0, .microbatch = 0, .words = "loss of the microbatch: not finite (expected 0.6, got inf)"}},
       {"no rank with the loss",
        [](auto& cell) { loss(cell.candidate, 0, 1).reset(); },
        {.step = 0, .microbatch = 1, .words = "one rank with the loss"}},
       {"two ranks with the loss",
        [](auto& cell) {
          for (auto& row : cell.candidate.ranks[0].microbatches) {
            if (row.step == 0 && row.microbatch == 1) row.loss = loss(cell.candidate, 0, 1);
          }
        },
        {.step = 0, .microbatch = 1, .words = "(expected one rank with the loss, got 2)"}},
       {"a step that is not the sum in both records",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate}) *run->ranks.back().steps[1].loss += 1e-4F;
        },
        {.step = 1, .words = "not the sum over the microbatches"}},
       {"not zero without a valid token, in both records",
        [](auto& cell) { set_losses(cell, 0.5F, 0.25F); },
        {.step = 0, .microbatch = 4, .words = "(expected 0, without a valid token, got 0.25)"}},
       {"below zero in both records",
        [](auto& cell) { set_losses(cell, -0.5F, 0); },
        {.step = 0, .microbatch = 0, .words = "(expected a cross-entropy, which is never below 0, got -0.5)"}}});
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
  for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;  // no copy of the candidate
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

TEST(Loss, OfAMicrobatchWithoutAValidTokenMayBeMinusZero) {
  SyntheticCell cell;
  set_losses(cell, 0.5F, -0.0F);
  EXPECT_TRUE(cell.judge().holds);
}

}  // namespace
}  // namespace plumbline::testing
