// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/predicates/forms.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

TEST(GradientNorm, IsIncompleteIfNoStepOrEveryStepIsClipped) {
  for (const bool never : {true, false}) {
    SyntheticCell cell;
    for (RankRecord& rank : cell.all_ranks())
      if (!never) rank.steps[1].gradient_norm = 4, rank.steps[1].clip_coefficient = 0.25;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["clip_norm"] = never ? 5.0 : 1.0;
    for (StepRow& row : cell.rows(&RankRecord::steps)) row.clip_coefficient = never ? 1.0 : *row.clip_coefficient;
    const auto verdict = cell.judge();
    EXPECT_FALSE(verdict.holds);
    EXPECT_EQ(result_of(verdict, "gradient_norm").outcome, Outcome::incomplete);
    EXPECT_EQ(result_of(verdict, "gradient_norm").reason.find("no norm reached the limit") != std::string::npos, never);
  }
}

TEST(GradientNorm, MayBeMissingIfAnExternalTrainerDoesNotClip) {
  const auto result = [](bool external, bool clips, bool of_candidate) {
    SyntheticCell cell;
    SyntheticRun& lacking = of_candidate ? cell.candidate : cell.reference;
    cell.plan.clipping_must_act = clips;
    if (external) lacking.manifest["role"] = "external";
    for (auto* run : {&cell.reference, &cell.candidate}) {
      if (!clips) run->manifest["clip_norm"] = nullptr;
      for (StepRow& row : run->rows(&RankRecord::steps)) {
        if (!clips) row.clip_coefficient = 1.0;
        if (run == &lacking) row.gradient_norm.reset();
      }
    }
    return result_of(cell.judge(), "gradient_norm");
  };
  for (const bool of_candidate : {true, false}) {
    EXPECT_EQ(result(true, false, of_candidate).outcome, Outcome::does_not_apply);
    EXPECT_THAT(result(true, false, of_candidate).reason, HasSubstr("one of the records has no norm"));
  }
  EXPECT_EQ(result(true, true, true).outcome, Outcome::differs) << "what is clipped needs its norm";
  EXPECT_EQ(result(false, false, true).outcome, Outcome::differs) << "ours always tell it";
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

TEST(GradientNorm, SummedRankByRankMustFollowFromItsGradients) {
  struct Case {
    const char* what;
    double reference, candidate;
    Outcome outcome;
  };
  for (const auto& [what, reference, candidate, outcome] :
       {Case{"roundings", 1, 1 + 0.99 * limit_of_candidate, Outcome::holds},
        Case{"more", 1, 1 + 1.01 * limit_of_candidate, Outcome::differs},
        Case{"less", 1, 1 - 1.01 * limit_of_candidate, Outcome::differs},
        Case{"both wrong alike", 1.05, 1.05, Outcome::differs}, Case{"a factor", 1, 1.05, Outcome::differs},
        Case{"the reference is wrong", 1.05, 1, Outcome::differs}}) {
    PerRankCell cell({1, candidate});
    for (auto& row : cell.reference.ranks[0].steps) {
      if (row.step == 1) *row.gradient_norm *= reference, row.clip_coefficient = 1;
    }

    EXPECT_EQ(result_of(cell.judge(), "gradient_norm").outcome, outcome) << what;
  }
}

// Where each of 1,000 ranks rounds to bfloat16, roundings alone may move a norm by more than a fault of 1.05 does.
TEST(GradientNorm, TooImpreciseToJudgeDoesNotHold) {
  PerRankCell cell({1, 1}, {.level = "summary"});
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["dtype"] = "bfloat16";
  EXPECT_EQ(result_of(cell.judge(), "gradient_norm").outcome, Outcome::holds);

  predicates::NormTerms terms{.dtype = "bfloat16", .ranks = 1000};
  EXPECT_GT(predicates::norm_rounding(terms), predicates::widest_norm_limit);
}

// Gradients in float32 buffers that no record holds, of bfloat16 parameters: a sum in bfloat16 moved the norm
// by 1.1e-5.
TEST(GradientNorm, WithoutGradientRowsTheStoredDtypeSetsTheLimit) {
  struct Case {
    double norm, factor;
    Outcome outcome;
  };
  for (const auto& [norm, factor, outcome] :
       {Case{2, 1.0078125, Outcome::holds}, Case{2.001, 1 + 1e-5, Outcome::differs},
        Case{2.001, 1 + 1e-7, Outcome::holds}, Case{std::sqrt(3), std::sqrt(1.0078125), Outcome::holds}}) {
    PerRankCell cell({norm / 2 * factor, 1}, {.level = "summary"});
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

  const auto norm = expect_outcome(cell, "gradient_norm", Outcome::holds);
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
  for (RankRecord& rank : cell.all_ranks()) {
    rank.steps[1].gradient_norm = 0, rank.steps[1].clip_coefficient = 1;
    for (auto& row : rank.tensors) {
      if (row.step == 1 && row.kind == "gradient") row.l2 = 0;
    }
  }

  EXPECT_EQ(expect_outcome(cell, "gradient_norm", Outcome::holds).margin, 0);
}

TEST(GradientNorm, OutsideItsRoundingIsReportedWithBothValues) {
  PerRankCell cell({1, 1.5});

  expect_fails(cell, "gradient_norm",
               {.step = 1, .rank = 0, .got = "0.75", .words = "ratio 1.5; only the 2-norm is judged"});
}

TEST(GradientNorm, OfOneRanksOwnGradientsIsNamedAsThat) {
  PerRankCell cell({1, 1});
  double squares = 0;
  for (const TensorRow& row : cell.candidate.ranks[0].tensors)
    squares += row.step == 1 && row.kind == "gradient" ? row.l2 * row.l2 : 0;
  for (RankRecord& rank : cell.candidate.ranks) rank.steps[1].gradient_norm = std::sqrt(squares);

  expect_fails(cell, "gradient_norm", {.step = 1, .words = "it is the norm of rank 0's own gradients"});
}

TEST(GradientNorm, ThatFitsItsOwnGradientsSaysIfTheTwoDiffer) {
  for (const double factor : {4.0, 1 + 1e-7}) {
    PerRankCell cell({factor, 1});
    for (RankRecord& rank : cell.candidate.ranks) {
      for (auto& row : rank.tensors)
        if (row.step == 0 && row.kind == "gradient") row.l2 *= factor;
    }

    const std::string reason = expect_outcome(cell, "gradient_norm", Outcome::holds).reason;

    EXPECT_EQ(reason.find("Each follows from its own gradients; in step 0 the two differ by a factor of 4 because the "
                          "gradients do") != std::string::npos,
              factor == 4.0)
        << reason;
  }
}

TEST(GradientNorm, OfAnotherTypeGetsAdvice) {
  PerRankCell cell({1, 1});
  float largest = 0;
  for (const TensorRow& row : cell.candidate.rows(&RankRecord::tensors))
    if (row.step == 1 && row.kind == "gradient") largest = std::max(largest, row.max_abs);
  for (RankRecord& rank : cell.candidate.ranks) rank.steps[1].gradient_norm = static_cast<double>(largest);

  EXPECT_THAT(expect_fails(cell, "gradient_norm", {.step = 1}).words,
              HasSubstr("it is their largest element; only the 2-norm is judged; if the trainer clips by another norm, "
                        "use Record(clip_norm=None)"));
}

// The coefficient follows from the norm, on whatever ranks the two show.
TEST(GradientNorm, IsReportedBeforeTheCoefficientOfAnotherRank) {
  SyntheticCell cell;
  cell.candidate.ranks[0].steps[0].clip_coefficient = 0.25;
  cell.candidate.ranks[1].steps[0].gradient_norm = 3;

  expect_fails(cell, "gradient_norm", {.rank = 1, .item = "gradient_norm", .words = "ratio 1.5"});
}

/// Both records without clipping; norms are taken away by the tests.
struct UnclippedCell : SyntheticCell {
  UnclippedCell() {
    plan.clipping_must_act = false;
    for (auto* run : {&reference, &candidate}) {
      run->manifest["clip_norm"] = nullptr;
      for (StepRow& row : run->rows(&RankRecord::steps)) row.clip_coefficient = 1;
    }
  }
};

TEST(GradientNorm, ThatAnExternalTrainerGivesInSomeStepsIsComparedInThose) {
  for (const bool right : {true, false}) {
    UnclippedCell cell;
    cell.candidate.manifest["role"] = "external";
    for (auto& rank : cell.candidate.ranks) {
      rank.steps[0].gradient_norm.reset();
      if (!right) rank.steps[1].gradient_norm = 3;
    }

    expect_outcome(cell, "gradient_norm", right ? Outcome::holds : Outcome::differs);
  }
}

TEST(GradientNorm, ThatAnExternalTrainerGivesOnOneRankIsCompared) {
  for (const bool right : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    for (auto& row : cell.candidate.ranks[0].steps) row.gradient_norm.reset();
    if (!right) cell.candidate.ranks[1].steps[1].gradient_norm = 3;

    const auto norm = expect_outcome(cell, "gradient_norm", right ? Outcome::holds : Outcome::differs);
    EXPECT_EQ(norm.first_divergence.value_or(Finding{}).got, right ? "" : "3");
    EXPECT_EQ(norm.first_divergence.value_or(Finding{}).rank, right ? std::nullopt : std::optional(1));
  }
}

TEST(GradientNorm, WithoutClippingSaysThatNoCoefficientActed) {
  UnclippedCell unclipped;
  SyntheticCell clipped;

  const auto none = result_of(unclipped.judge(), "gradient_norm"), some = result_of(clipped.judge(), "gradient_norm");

  EXPECT_EQ(none.outcome, Outcome::holds) << none.reason;
  EXPECT_THAT(none.not_shown, ::testing::ElementsAre(HasSubstr("a coefficient that is not applied")));
  EXPECT_THAT(some.not_shown, ::testing::IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
