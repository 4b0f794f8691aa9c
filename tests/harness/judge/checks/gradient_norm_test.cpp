// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/audit/norm_rounding.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

/// In the candidate, or in the reference too.
void set_norm(SyntheticCell& cell, bool both, std::size_t step, double norm, double coefficient) {
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      if (!both && run == &cell.reference) continue;
      rank.steps[step].gradient_norm = norm;
      rank.steps[step].clip_coefficient = coefficient;
    }
  }
}

TEST(GradientNorm, AndItsCoefficientAreHeldInBothRecordsOnEveryRank) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  expect_each_red(
      {"gradient_norm"},
      {{[](auto& cell) { set_norm(cell, false, 0, 3.0, 0.5); }, "gradient_norm", 0, "ratio 1.5"},
       {[](auto& cell) { set_norm(cell, true, 1, nan, nan); }, "gradient_norm", 1, "expected a finite norm"},
       {[](auto& cell) { set_norm(cell, false, 1, infinity, infinity); }, "gradient_norm", 1, "not finite"},
       {[](auto& cell) { cell.candidate.ranks[1].steps[1].gradient_norm.reset(); }, "gradient_norm", 1, "absent", 1},
       {[](auto& cell) { cell.candidate.ranks[1].steps[0].clip_coefficient = std::nextafter(0.5, 1.0); },
        "clip_coefficient", 0, "", 1},
       {[](auto& cell) { set_norm(cell, true, 0, 2.0, 1.0 / (2.0 + 1e-6)); }, "clip_coefficient", 0, ""},
       {[](auto& cell) { cell.reference.ranks[0].steps[0].clip_coefficient = std::nextafter(0.5, 1.0); },
        "clip_coefficient", 0, "of the reference"}});
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
  EXPECT_THAT(result_of(verdict, "gradient_norm").reason, HasSubstr("never acted"));
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
    EXPECT_THAT(found.words,
                HasSubstr(of_candidate ? "gradient_norm (expected a norm, got absent)" : "of the reference"));
  }
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

/// Of an external trainer whose norm is summed rank by rank, so many times the reference's in each step.
struct PerRankCell : SyntheticCell {
  explicit PerRankCell(const std::vector<double>& factors, const SyntheticPlan& of_plan = {}) : SyntheticCell(of_plan) {
    candidate.manifest["role"] = "external";
    candidate.manifest["norm_order"] = "per_rank";
    for (auto& rank : candidate.ranks) {
      for (std::size_t step = 0; step < factors.size(); ++step) {
        StepRow& row = rank.steps[step];
        *row.gradient_norm *= factors[step];
        row.clip_coefficient = std::min(1.0, 1 / *row.gradient_norm);
      }
    }
  }
};

/// Of the candidate's 20 gradients, the largest of 32 elements, on 2 ranks in float32.
const double limit_of_candidate = (4 + 10 + 3.5) * 0x1p-24;

TEST(GradientNorm, SummedRankByRankIsHeldToItsOwnGradients) {
  struct Case {
    const char* what;
    double reference, candidate;
    Outcome outcome;
  };
  for (const auto& [what, reference, candidate, outcome] :
       {Case{"roundings", 1, 1 + 0.99 * limit_of_candidate, Outcome::holds},
        Case{"more", 1, 1 + 1.01 * limit_of_candidate, Outcome::fails},
        Case{"less", 1, 1 - 1.01 * limit_of_candidate, Outcome::fails},
        Case{"both wrong alike", 1.05, 1.05, Outcome::fails}, Case{"a factor", 1, 1.05, Outcome::fails},
        Case{"the reference is wrong", 1.05, 1, Outcome::fails}}) {
    PerRankCell cell({1, candidate});
    for (auto& row : cell.reference.ranks[0].steps) {
      if (row.step == 1) *row.gradient_norm *= reference, row.clip_coefficient = 1;
    }

    EXPECT_EQ(result_of(cell.judge(), "gradient_norm").outcome, outcome) << what;
  }
}

// Where each of 1,000 ranks rounds to bfloat16, roundings alone may move a norm by more than a fault of 1.05 does.
TEST(GradientNorm, ThatNoLimitCanJudgeDoesNotHold) {
  SyntheticPlan plan;
  plan.level = "summary";
  PerRankCell cell({1, 1}, plan);
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["dtype"] = "bfloat16";
  EXPECT_EQ(result_of(cell.judge(), "gradient_norm").outcome, Outcome::holds);

  auditing::NormTerms terms{.dtype = "bfloat16", .ranks = 1000};
  EXPECT_GT(auditing::norm_rounding(terms), auditing::widest_norm_limit);
}

// Gradients in float32 buffers that no record holds, of bfloat16 parameters: a sum in bfloat16 moved the norm
// by 1.1e-5.
TEST(GradientNorm, WithoutRowsOfGradientsABfloat16NormIsHeldToWhatItIsStoredIn) {
  struct Case {
    double norm, factor;
    Outcome outcome;
  };
  for (const auto& [norm, factor, outcome] :
       {Case{2, 1.0078125, Outcome::holds}, Case{2.001, 1 + 1e-5, Outcome::fails},
        Case{2.001, 1 + 1e-7, Outcome::holds}, Case{std::sqrt(3), std::sqrt(1.0078125), Outcome::holds}}) {
    SyntheticPlan plan;
    plan.level = "summary";
    PerRankCell cell({norm / 2 * factor, 1}, plan);
    cell.plan.clipping_must_act = false;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["dtype"] = "bfloat16";
    StepRow& row = cell.reference.ranks[0].steps[0];
    row.gradient_norm = norm, row.clip_coefficient = 1 / norm;

    const auto result = result_of(cell.judge(), "gradient_norm");
    EXPECT_EQ(result.outcome, outcome) << norm << " times " << factor << ": " << result.reason;
  }
}

TEST(GradientNorm, SummedRankByRankHasTheWidestDistanceOfAllStepsAsMargin) {
  PerRankCell cell({1, 1 + 8e-7});

  const auto norm = result_of(cell.judge(), "gradient_norm");

  EXPECT_EQ(norm.outcome, Outcome::holds) << norm.reason;
  EXPECT_NEAR(norm.margin.value_or(0), 8e-7 / limit_of_candidate, 1e-4);
  EXPECT_THAT(norm.measured, ::testing::AllOf(::testing::StartsWith("relative difference at most "),
                                              HasSubstr("; allowed " + to_text(limit_of_candidate))));
}

TEST(GradientNorm, SummedRankByRankThatIsNearerInALaterStepKeepsItsMargin) {
  PerRankCell cell({1 + 8e-7, 1});
  cell.plan.checks = {"gradient_norm"};

  EXPECT_GT(result_of(cell.judge(), "gradient_norm").margin.value_or(0), 0.7);
}

TEST(GradientNorm, SummedRankByRankOfNothingIsEqual) {
  PerRankCell cell({1, 0});
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      rank.steps[1].gradient_norm = 0, rank.steps[1].clip_coefficient = 1;
      for (auto& row : rank.tensors) {
        if (row.step == 1 && row.kind == "gradient") row.l2 = 0;
      }
    }
  }

  const auto norm = result_of(cell.judge(), "gradient_norm");

  EXPECT_EQ(norm.outcome, Outcome::holds) << norm.reason;
  EXPECT_EQ(norm.margin, 0);
}

TEST(GradientNorm, OutsideTheRoundingsOfItsSumIsToldWithBoth) {
  PerRankCell cell({1, 1.5});

  const auto found = result_of(cell.judge(), "gradient_norm").first_divergence.value();

  EXPECT_EQ(found.step, 1);
  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.got, "0.75");
  EXPECT_THAT(found.words, HasSubstr("ratio 1.5 ("));
}

// The coefficient follows from the norm, on whatever ranks the two show.
TEST(GradientNorm, IsToldBeforeTheCoefficientOfAnotherRank) {
  SyntheticCell cell;
  cell.candidate.ranks[0].steps[0].clip_coefficient = 0.25;
  cell.candidate.ranks[1].steps[0].gradient_norm = 3;

  const auto found = result_of(cell.judge(), "gradient_norm").first_divergence.value();

  EXPECT_EQ(found.item, "gradient_norm");
  EXPECT_EQ(found.rank, 1);
  EXPECT_THAT(found.words, HasSubstr("ratio 1.5"));
}

/// Both records without clipping; norms are taken away by the tests.
struct UnclippedCell : SyntheticCell {
  UnclippedCell() {
    plan.clipping_must_act = false;
    for (auto* run : {&reference, &candidate}) {
      run->manifest["clip_norm"] = nullptr;
      for (auto& rank : run->ranks) {
        for (auto& row : rank.steps) row.clip_coefficient = 1;
      }
    }
  }
};

TEST(GradientNorm, MayBeLackingInAnExternalReferenceToo) {
  UnclippedCell cell;
  cell.reference.manifest["role"] = "external";
  for (auto& row : cell.reference.ranks[0].steps) row.gradient_norm.reset();

  const auto norm = result_of(cell.judge(), "gradient_norm");

  EXPECT_EQ(norm.outcome, Outcome::not_applicable) << norm.reason;
  EXPECT_THAT(norm.reason, HasSubstr("one of the records gives no norm"));
}

TEST(GradientNorm, ThatAnExternalTrainerGivesInSomeStepsIsComparedInThose) {
  for (const bool right : {true, false}) {
    UnclippedCell cell;
    cell.candidate.manifest["role"] = "external";
    for (auto& rank : cell.candidate.ranks) {
      rank.steps[0].gradient_norm.reset();
      if (!right) rank.steps[1].gradient_norm = 3;
    }

    const auto norm = result_of(cell.judge(), "gradient_norm");

    EXPECT_EQ(norm.outcome, right ? Outcome::holds : Outcome::fails) << norm.reason;
  }
}

TEST(GradientNorm, ThatAnExternalTrainerGivesOnOneRankIsCompared) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    for (auto& row : cell.candidate.ranks[0].steps) row.gradient_norm.reset();
    if (!right) cell.candidate.ranks[1].steps[1].gradient_norm = 3;

    const auto norm = result_of(cell.judge(), "gradient_norm");

    EXPECT_EQ(norm.outcome, right ? Outcome::holds : Outcome::fails) << norm.reason;
    EXPECT_EQ(norm.first_divergence.value_or(Finding{}).got, right ? "" : "3");
    EXPECT_EQ(norm.first_divergence.value_or(Finding{}).rank, right ? std::nullopt : std::optional(1));
  }
}

TEST(GradientNorm, WithoutClippingSaysThatNoCoefficientWasSeenToAct) {
  UnclippedCell unclipped;
  SyntheticCell clipped;

  const auto none = result_of(unclipped.judge(), "gradient_norm"), some = result_of(clipped.judge(), "gradient_norm");

  EXPECT_EQ(none.outcome, Outcome::holds) << none.reason;
  EXPECT_THAT(none.not_shown, ::testing::ElementsAre(HasSubstr("a coefficient that is not applied")));
  EXPECT_THAT(some.not_shown, ::testing::IsEmpty());
}

// Of two records that sum in one order bits are demanded: roundings are allowed where a norm is summed rank by rank.
TEST(GradientNorm, OneRoundingOffIsRed) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks) {
    rank.steps[0].gradient_norm = std::nextafter(2.0, 3.0);
    rank.steps[0].clip_coefficient = 1 / std::nextafter(2.0, 3.0);
  }

  const auto found = expect_red(cell, {"gradient_norm"}, "gradient_norm", 0);

  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.expected, "2");
}

}  // namespace
}  // namespace plumbline::testing
