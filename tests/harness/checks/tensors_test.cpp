// gradients, nonzero_gradients, gradient_norm and parameters: the checks over tensors.csv and what follows from it.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "record/digest.hpp"
#include "tests/harness/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* embedding = "model.embed_tokens.weight";
constexpr const char* head = "lm_head.weight";

FirstDivergence expect_red(SyntheticCell& cell, const std::vector<std::string>& checks, const std::string& item,
                           std::int64_t step) {
  const auto verdict = cell.judge();

  EXPECT_EQ(with_outcome(verdict, Outcome::fails), checks);
  if (!verdict.first_divergence) return {};
  EXPECT_EQ(verdict.first_divergence->item, item);
  EXPECT_EQ(verdict.first_divergence->step, step);
  return *verdict.first_divergence;
}

TEST(Gradients, ZeroGradMissingShowsFromTheSecondStepOn) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks) {
    for (auto& row : rank.tensors) {
      if (row.kind == "gradient" && row.step == 1) row.digest = other_digest;
    }
  }
  EXPECT_EQ(expect_red(cell, {"gradients"}, embedding, 1).rung, "R3");
}

TEST(Gradients, TiedGradientsThatWereNotReducedNameTheTiedWeightOnly) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", embedding).digest = other_digest;
  tensor_row(cell.candidate, 0, "gradient", head).digest = "1" + other_digest.substr(1);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("gradients"));
  EXPECT_THAT(result_of(verdict, "gradients").reason,
              HasSubstr("in that step: model.embed_tokens.weight, lm_head.weight)"));
}

TEST(Gradients, MissingRow) {
  SyntheticCell cell;
  std::erase_if(cell.candidate.ranks[1].tensors, [](const auto& row) {
    return row.kind == "gradient" && row.name == "model.norm.weight" && row.step == 0;
  });
  expect_red(cell, {"gradients", "nonzero_gradients"}, "model.norm.weight", 0);
}

TEST(Gradients, AnotherShapeWithTheSameDigest) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", "model.layers.0.mlp.down_proj.weight").shape = {6, 4};
  EXPECT_THAT(expect_red(cell, {"gradients"}, "model.layers.0.mlp.down_proj.weight", 0).words, HasSubstr("shape"));
}

TEST(Gradients, NanInBothRecordsNamesTheFirstTensorThatHoldsIt) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    tensor_row(*run, 0, "gradient", "model.layers.1.self_attn.v_proj.weight").nan = 1;
    tensor_row(*run, 0, "parameter", embedding).nan = 3;
  }

  const auto found =
      expect_red(cell, {"gradients", "nonzero_gradients", "parameters"}, "model.layers.1.self_attn.v_proj.weight", 0);

  EXPECT_THAT(found.words, HasSubstr("1 NaN"));
}

TEST(Gradients, InfinityInTheCandidate) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 1, "gradient", head).inf = 2;
  expect_red(cell, {"gradients", "nonzero_gradients"}, head, 1);
}

TEST(Gradients, FrozenParameterHasNoRowAndIsNotMissed) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["frozen"] = {"model.norm.weight"};
    for (auto& rank : run->ranks) {
      std::erase_if(rank.tensors,
                    [](const auto& row) { return row.name == "model.norm.weight" && row.kind != "parameter"; });
      // 4 elements of fp32: gradient 16 bytes, two moments and a step count 36 bytes
      if (run->ranks.size() > 1 && rank.rank == 0) continue;
      for (auto& row : rank.memory) *row.gradient_bytes -= 16, *row.optimizer_bytes -= 36;
    }
  }
  const auto verdict = cell.judge();
  EXPECT_TRUE(verdict.holds) << verdict.first_divergence.value_or(FirstDivergence{}).words;
}

TEST(NonzeroGradients, AllZeroInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate})
    tensor_row(*run, 1, "gradient", "model.layers.0.self_attn.o_proj.weight").nonzero = 0;
  EXPECT_THAT(expect_red(cell, {"nonzero_gradients"}, "model.layers.0.self_attn.o_proj.weight", 1).got,
              HasSubstr("all zero"));
}

TEST(NonzeroGradients, UntiedEmbeddingRowsAreThoseOfLiveTokens) {
  SyntheticPlan plan;
  plan.tied = false;
  SyntheticCell cell(plan);
  for (auto* run : {&cell.reference, &cell.candidate}) tensor_row(*run, 0, "gradient", embedding).nonzero_rows = 5;
  EXPECT_THAT(expect_red(cell, {"nonzero_gradients"}, embedding, 0).expected, HasSubstr("6 non-zero rows"));
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAMicrobatchWithValidLabels) {
  SyntheticCell cell;
  const Shape shape = {1, 4, 4};
  const std::string zeros = tensor_digest("float32", shape, std::vector<std::byte>(64));
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.boundaries) {
        if (row.step == 0 && row.microbatch == 2 && row.direction == "backward" && row.cut == "layers.1")
          row.digest = zeros;
      }
    }
  }
  EXPECT_EQ(expect_red(cell, {"nonzero_gradients"}, "layers.1", 0).microbatch, 2);
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAFullyMaskedMicrobatchIsRight) {
  SyntheticCell cell;
  const std::string zeros = tensor_digest("float32", {1, 2, 4}, std::vector<std::byte>(32));
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.boundaries) {
        if (row.microbatch == 4 && row.direction == "backward") row.digest = zeros;
      }
    }
  }
  EXPECT_TRUE(cell.judge().holds);
}

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

TEST(Parameters, HeadMissingFromTheOptimiserNamesItAlone) {
  SyntheticPlan plan;
  plan.tied = false;
  SyntheticCell cell(plan);
  for (const std::int64_t step : {0, 1}) tensor_row(cell.candidate, step, "parameter", head).digest = other_digest;
  std::erase_if(cell.candidate.ranks[1].tensors,
                [](const auto& row) { return row.name == head && row.kind.starts_with("moment"); });

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("parameters"));
  EXPECT_EQ(verdict.first_divergence->item, head);
  EXPECT_THAT(result_of(verdict, "parameters").reason, HasSubstr("in that step: lm_head.weight)"));
}

TEST(Parameters, MomentOfAnOtherwiseEqualStep) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 1, "moment2", "model.layers.0.mlp.gate_proj.weight").digest = other_digest;
  EXPECT_THAT(expect_red(cell, {"parameters"}, "model.layers.0.mlp.gate_proj.weight", 1).words, HasSubstr("moment2"));
}

TEST(Parameters, TiedCopiesThatDifferInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) tensor_row(*run, 1, "parameter", head).digest = other_digest;
  EXPECT_THAT(expect_red(cell, {"parameters"}, head, 1).words, HasSubstr("copies of the tied weight differ"));
}

TEST(Parameters, LearningRateOfOneRank) {
  SyntheticCell cell(with_empty_stage());
  cell.candidate.ranks[1].steps[1].learning_rate = 0.0011;
  EXPECT_EQ(expect_red(cell, {"parameters"}, "learning_rate", 1).rank, 1);
}

TEST(Parameters, NanAtTheStartOfBothIsNamedAndNothingAfterIsJudged) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) tensor_row(*run, -1, "parameter", "model.norm.weight").nan = 1;
  expect_red(cell, {"parameters"}, "model.norm.weight", -1);
}

TEST(Parameters, WholeModelOnEachRankIsARowTooMany) {
  SyntheticCell cell;
  for (const std::int64_t step : {0, 1}) {
    auto row = tensor_row(cell.candidate, step, "parameter", "model.norm.weight");
    row.stage = 0;
    cell.candidate.ranks[0].tensors.push_back(row);
  }
  EXPECT_EQ(expect_red(cell, {"parameters"}, "model.norm.weight", 0).rank, 0);
}

}  // namespace
}  // namespace plumbline::testing
