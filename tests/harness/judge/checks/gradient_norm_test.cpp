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

TEST(GradientNorm, ThatIsAbsentIsToldOfItsRecord) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    for (auto& rank : (of_candidate ? cell.candidate : cell.reference).ranks) rank.steps[1].gradient_norm.reset();
    const auto found = expect_red(cell, {"gradient_norm"}, "gradient_norm", 1);
    EXPECT_THAT(found.words, HasSubstr(of_candidate ? "gradient_norm at step 1 is absent" : "the reference: "));
  }
}

TEST(GradientNorm, ThatOneRankOfOursLacks) {
  SyntheticCell cell;
  cell.candidate.ranks[1].steps[1].gradient_norm.reset();
  EXPECT_EQ(expect_red(cell, {"gradient_norm"}, "gradient_norm", 1).rank, 1);
}

TEST(GradientNorm, MayBeLackingWhereAnothersTrainerDoesNotClip) {
  const auto outcome = [](bool external, bool clips) {
    SyntheticCell cell;
    cell.plan.clipping_must_act = clips;
    if (external) cell.candidate.manifest["role"] = "external";
    for (auto* run : {&cell.reference, &cell.candidate}) {
      if (!clips) run->manifest["clip_norm"] = nullptr;
      for (auto& rank : run->ranks) {
        for (auto& row : rank.steps) {
          if (!clips) row.clip_coefficient = 1.0;
          if (run == &cell.candidate) row.gradient_norm.reset();
        }
      }
    }
    return result_of(cell.judge(), "gradient_norm").outcome;
  };
  EXPECT_EQ(outcome(true, false), Outcome::not_applicable);
  EXPECT_EQ(outcome(true, true), Outcome::fails) << "what is clipped needs its norm";
  EXPECT_EQ(outcome(false, false), Outcome::fails) << "ours always tell it";
}

TEST(GradientNorm, SummedRankByRankMayLieWithinTheRoundingsOfItsSum) {
  const auto outcome = [](double factor) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest["norm_order"] = "per_rank";
    for (auto& rank : cell.candidate.ranks) *rank.steps[1].gradient_norm *= factor;
    return result_of(cell.judge(), "gradient_norm").outcome;
  };
  // 21 tensors, the largest of 32 elements, in float32: (21 + 4 sqrt(32)) 2^-24 = 2.6e-6.
  EXPECT_EQ(outcome(1 + 2e-6), Outcome::holds);
  EXPECT_EQ(outcome(1 + 4e-6), Outcome::fails);
}

}  // namespace
}  // namespace plumbline::testing
