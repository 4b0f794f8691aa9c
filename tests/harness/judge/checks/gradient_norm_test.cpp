#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

TEST(GradientNorm, RatioIsNamed) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks) rank.steps[0].gradient_norm = 3.0;
  EXPECT_THAT(expect_red(cell, {"gradient_norm"}, "gradient_norm", 0).words, HasSubstr("ratio 1.5"));
}

TEST(GradientNorm, OneRankWithAnotherCoefficient) {
  SyntheticCell cell;
  cell.candidate.ranks[1].steps[0].clip_coefficient = std::nextafter(0.5, 1.0);
  const auto found = expect_red(cell, {"gradient_norm"}, "clip_coefficient", 0);
  EXPECT_EQ(found.rank, 1);
}

TEST(GradientNorm, CoefficientWithAnEpsilonInBothRecordsIsRecomputed) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) rank.steps[0].clip_coefficient = 1.0 / (2.0 + 1e-6);
  }
  expect_red(cell, {"gradient_norm"}, "clip_coefficient", 0);
}

TEST(GradientNorm, ACoefficientOfTheReferenceThatDoesNotFollowFromItsNorm) {
  SyntheticCell cell;
  cell.reference.ranks[0].steps[0].clip_coefficient = std::nextafter(0.5, 1.0);
  EXPECT_THAT(expect_red(cell, {"gradient_norm"}, "clip_coefficient", 0).words, HasSubstr("the reference: "));
}

TEST(GradientNorm, NanInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks)
      rank.steps[1].gradient_norm = rank.steps[1].clip_coefficient = std::numeric_limits<double>::quiet_NaN();
  }
  expect_red(cell, {"gradient_norm"}, "gradient_norm", 1);
}

TEST(GradientNorm, LimitThatNeverBitIsNotTriggered) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["clip_norm"] = 5.0;
    for (auto& rank : run->ranks) {
      for (auto& row : rank.steps) row.clip_coefficient = 1.0;
    }
  }
  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "gradient_norm").outcome, Outcome::not_triggered);
  EXPECT_THAT(result_of(verdict, "gradient_norm").reason, HasSubstr("never bit"));
}

TEST(GradientNorm, LimitThatBitInEveryStepIsNotTriggeredEither) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) rank.steps[1].gradient_norm = 4.0, rank.steps[1].clip_coefficient = 0.25;
  }
  EXPECT_EQ(result_of(cell.judge(), "gradient_norm").outcome, Outcome::not_triggered);
}

}  // namespace
}  // namespace plumbline::testing
