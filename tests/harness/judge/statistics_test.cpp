// SPDX-License-Identifier: BSD-3-Clause
// Rows with equal digests describe equal tensors, so their statistics must agree; and rows that no model explains.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string name = "model.layers.0.self_attn.q_proj.weight";

void expect_statistics_red(const std::function<void(TensorRow&)>& change, const std::string& column) {
  for (const auto& [kind, check] : {std::pair{"gradient", "gradients"}, std::pair{"moment2", "parameters"}}) {
    for (const bool of_candidate : {false, true}) {
      SyntheticCell cell;
      change(tensor_row(of_candidate ? cell.candidate : cell.reference, 1, kind, name));

      const auto verdict = cell.judge();

      EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains(check)) << column;
      EXPECT_THAT(result_of(verdict, check).reason, HasSubstr("the bits are the same, but " + column + " is"));
      EXPECT_EQ(result_of(verdict, check).first_divergence.value().item, name);
    }
  }
}

TEST(Statistics, OfEqualDigestsMustBeEqual) {
  expect_statistics_red([](TensorRow& row) { row.nonzero -= 1; }, "nonzero");
  expect_statistics_red([](TensorRow& row) { *row.nonzero_rows -= 1; }, "nonzero_rows");
  expect_statistics_red([](TensorRow& row) { row.max_abs = std::nextafter(row.max_abs, 1.0F); }, "max_abs");
  expect_statistics_red([](TensorRow& row) { row.l2 *= 1 + 1e-12; }, "l2");
}

/// An external trainer's may overflow.
TEST(Statistics, AnInfiniteNormIsCloseToNone) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    for (SyntheticRun* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";
    tensor_row(of_candidate ? cell.candidate : cell.reference, 1, "gradient", name).l2 = HUGE_VAL;

    EXPECT_THAT(result_of(cell.judge(), "gradients").reason, HasSubstr("the bits are the same, but l2 is"));
  }
}

TEST(Statistics, TheSumOfSquaresMayBeAddedInAnyOrder) {
  SyntheticCell cell;
  TensorRow& row = tensor_row(cell.candidate, 1, "gradient", name);
  row.l2 = std::nextafter(row.l2, 2.0);

  EXPECT_TRUE(cell.judge().holds);
}

TEST(Statistics, ARowOfTheReferenceThatIsNoParameterIsFound) {
  SyntheticCell cell;
  TensorRow row = tensor_row(cell.reference, 1, "gradient", name);
  row.name = "model.ghost";
  cell.reference.ranks[0].tensors.push_back(row);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("gradients"));
  EXPECT_EQ(verdict.first_divergence->item, "model.ghost");
}

TEST(Statistics, AMomentThatTheOptimizerLacksIsFoundInEitherRecord) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell({.optimizer = "sgd"});
    SyntheticRun& run = of_candidate ? cell.candidate : cell.reference;
    TensorRow row = tensor_row(run, 1, "moment1", name);
    row.kind = "moment2";
    run.ranks[0].tensors.push_back(row);

    const auto verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("parameters"));
    EXPECT_THAT(result_of(verdict, "parameters").reason, HasSubstr("the optimizer does not have this moment"));
  }
}

TEST(Statistics, ACutThatNoStageOfTheCandidateEndsAtIsStillInTheReference) {
  SyntheticCell cell;
  std::erase_if(cell.reference.ranks[0].boundaries, [](const auto& row) {
    return row.step == 1 && row.microbatch == 2 && row.cut == "lm_head" && row.direction == "backward";
  });

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("boundaries"));
  expect_finding(*verdict.first_divergence, {.microbatch = 2, .item = "lm_head"});
}

}  // namespace
}  // namespace plumbline::testing
