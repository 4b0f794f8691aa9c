// SPDX-License-Identifier: BSD-3-Clause
// Norms that are summed rank by rank, whose roundings give two right runs other clip coefficients.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "harness/judge/judge.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The candidate, or the reference, sums its norm rank by rank, and in this step the two clip by other coefficients.
struct PartingCell : SyntheticCell {
  explicit PartingCell(std::size_t step, bool of_candidate = true) {
    for (auto* run : {&reference, &candidate}) {
      for (auto& rank : run->ranks) {
        const double times = 2.0 / rank.steps[step].gradient_norm.value();  // the norm is that of the gradients
        for (auto& row : rank.tensors)
          if (row.kind == "gradient" && row.step == static_cast<std::int64_t>(step)) row.l2 *= times;
      }
      clip(*run, step, 2.0);
    }
    auto& run = of_candidate ? candidate : reference;
    run.manifest["role"] = "external";
    run.manifest["norm_order"] = "per_rank";
    clip(run, step, std::nextafter(2.0, 3.0));
  }

  static void clip(SyntheticRun& run, std::size_t step, double norm) {
    for (auto& rank : run.ranks) rank.steps[step].gradient_norm = norm, rank.steps[step].clip_coefficient = 1 / norm;
  }
};

TEST(NormByRank, ValuesAreComparedUpToTheStepWhereCoefficientsDiverge) {
  for (const bool of_candidate : {true, false}) {
    PartingCell cell(0, of_candidate);
    tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;
    tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

    const CellVerdict verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
    EXPECT_TRUE(verdict.incomplete());
    const auto from = [&](const std::string& claim) { return result_of(verdict, claim).from_step; };
    EXPECT_EQ(from("loss"), 1);
    EXPECT_EQ(from("gradients"), 1) << "those of step 0 were compared";
    EXPECT_EQ(from("parameters"), 0);
    EXPECT_EQ(acceptable_claims(verdict.checks).size(), 3U) << "data are compared in all steps";
    EXPECT_THAT(missing_words(verdict.checks, false), HasSubstr("norms_from="));
    EXPECT_THAT(reason_words(result_of(verdict, "gradients")), HasSubstr("compared through step 0; from step 1 on"));
  }
}

TEST(NormByRank, LaterStepsHoldIfTheUserAcceptsThem) {
  PartingCell cell(0);
  cell.plan.accept_missing = {"loss", "gradients", "parameters"};
  tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;
  EXPECT_TRUE(cell.judge().holds);

  cell.plan.accept_missing = {"gradients", "parameters"};
  EXPECT_TRUE(cell.judge().incomplete());

  tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), ElementsAre("gradients")) << "what is there is compared";
}

TEST(NormByRank, LaterNormsMustStillFollowFromTheirGradients) {
  PartingCell cell(0);
  PartingCell::clip(cell.candidate, 1, 1.1 * *cell.candidate.ranks[0].steps[1].gradient_norm);

  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), Contains("gradient_norm"));
}

TEST(NormByRank, TheGradientsOfThatStepAndTheStartAreStillCompared) {
  PartingCell gradient(0), start(0), data(0);
  tensor_row(gradient.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;
  tensor_row(start.candidate, -1, "parameter", "model.norm.weight").digest = other_digest;
  for (auto& rank : data.candidate.ranks) rank.microbatches.back().data_digest = other_digest;

  EXPECT_THAT(with_outcome(gradient.judge(), Outcome::differs), ElementsAre("gradients"));
  EXPECT_THAT(with_outcome(start.judge(), Outcome::differs), ElementsAre("parameters"));
  EXPECT_THAT(with_outcome(data.judge(), Outcome::differs), Contains("data")) << "of a later step";
}

TEST(NormByRank, TheUpdatesBeforeThatStepAreStillCompared) {
  PartingCell cell(1);
  tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;
  EXPECT_THAT(with_outcome(cell.judge(), Outcome::differs), ElementsAre("parameters"));
}

// The trainer computes its coefficient otherwise than the recorder does, from a norm that differs.
TEST(NormByRank, OtherNormsOfOneCoefficientAreTheStepTooIfTheUpdateDiffers) {
  for (const bool differs : {true, false}) {
    PartingCell cell(0);
    for (auto& rank : cell.candidate.ranks) rank.steps[0].clip_coefficient = 0.5;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["clip_norm"] = 1.0;
    if (differs) tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;

    EXPECT_EQ(result_of(cell.judge(), "parameters").from_step, differs ? std::optional<std::int64_t>(0) : std::nullopt);
  }
}

/// Both sum their norms rank by rank, and no norm is recorded of the candidate. By its gradients the first step clips.
struct UnrecordedNormCell : PartingCell {
  UnrecordedNormCell() : PartingCell(0) {
    for (auto& rank : candidate.ranks)
      for (StepRow& row : rank.steps) row.gradient_norm.reset(), row.clip_coefficient.reset();
    candidate.manifest["not_recorded"].push_back({{"what", "norm"}, {"why", "the trainer clips by itself"}});
    for (TensorRow& row : candidate.rows(&RankRecord::tensors))
      if ((row.step == 0 && row.kind != "gradient") || row.step > 0) row.digest = hash_hex(row.digest);
  }
};

/// Adds the gradients as the optimizer received them to both records; those of the candidate's first step have other
/// bits, and their sizes are `times` the reference's.
void apply(SyntheticCell& cell, double times) {
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    run->manifest["role"] = "external";
    for (RankRecord& rank : run->ranks) {
      std::vector<TensorRow> applied;
      for (const TensorRow& row : rank.tensors) {
        if (row.kind != "gradient") continue;
        applied.push_back(row);
        applied.back().kind = "applied";
        if (run == &cell.reference || row.step > 0) continue;
        applied.back().digest = hash_hex(row.digest);
        applied.back().l2 *= times;
      }
      rank.tensors.insert(rank.tensors.end(), applied.begin(), applied.end());
    }
  }
}

TEST(NormByRank, AStepWhoseGradientsWereAppliedByAnUnrecordedNormIsItsStep) {
  UnrecordedNormCell cell;
  apply(cell, 1 + 1e-7);

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_EQ(result_of(verdict, "parameters").from_step, 0);
  ASSERT_TRUE(verdict.incomplete());
  EXPECT_THAT(missing_words(verdict.checks, false),
              HasSubstr("may differ by the rounding of a norm that was not recorded"));
}

TEST(NormByRank, ALargerDifferenceThanRoundingFails) {
  UnrecordedNormCell cell;
  apply(cell, 1.2);  // as by the norm of one stage

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("applied"));
  EXPECT_EQ(verdict.first_divergence->level, "R4");
}

TEST(NormByRank, MissingRowsAreNoReasonWhyAParameterMayDiffer) {
  UnrecordedNormCell cell;  // without gradients as applied

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains("parameters"));
  EXPECT_THAT(result_of(verdict, "parameters").reason, HasSubstr("call record.gradients() before clipping"));
}

}  // namespace
}  // namespace plumbline::testing
