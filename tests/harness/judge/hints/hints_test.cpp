// SPDX-License-Identifier: BSD-3-Clause
// What the rows of a step show of a difference's cause, as a reader of the verdict sees it.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of the candidate's first step, by name and stage; all digests become others.
template <class Fits>
void scale_gradients(SyntheticCell& cell, double factor, Fits fits) {
  for (TensorRow& row : cell.candidate.rows(&RankRecord::tensors)) {
    if (row.kind != "gradient" || row.step != 0 || !fits(row)) continue;
    row.l2 *= factor, row.max_abs *= static_cast<float>(factor);
    row.digest[0] = row.digest[0] == 'f' ? 'e' : 'f';
  }
}

bool is_tied(const TensorRow& row) {
  return row.name == embedding_weight || row.name == head_weight;
}

void make_external(SyntheticCell& cell) {
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";
}

/// All losses of the candidate's first step.
void scale_losses(SyntheticCell& cell, float factor) {
  for (MicrobatchRow& row : cell.candidate.rows(&RankRecord::microbatches))
    if (row.step == 0 && row.loss) *row.loss *= factor;
  for (StepRow& row : cell.candidate.rows(&RankRecord::steps))
    if (row.step == 0 && row.loss) *row.loss *= factor;
}

TEST(GradientFactor, IsNamedByEachCountThatTrainersDivideBy) {
  // 5 microbatches of 13 tokens, of which 10 are valid, on 2 stages.
  for (const auto& [factor, words] :
       {std::pair{13.0, "13 times the reference's: as many as tokens in the step"},
        std::pair{1.3, "1.3 times the reference's: tokens / valid tokens of the step"},
        std::pair{1 / 1.3, "1/1.3 of the reference's: tokens / valid tokens of the step"}}) {
    SyntheticCell cell;
    scale_gradients(cell, factor, [](const auto&) { return true; });

    EXPECT_THAT(expect_fails(cell, "gradients").words, EndsWith(std::string("; all gradients of step 0 are ") + words));
  }
  SyntheticCell one_pipeline(one_stage());
  scale_gradients(one_pipeline, 2, [](const auto&) { return true; });
  EXPECT_THAT(expect_fails(one_pipeline, "gradients").words, HasSubstr(": as where a sum is taken twice"));
}

TEST(GradientFactor, OfOneStageNamesIt) {
  for (const double factor : {5.0, 1.0}) {
    SyntheticCell cell({.tied = false});
    scale_gradients(cell, factor, [](const auto& row) { return row.stage == 0; });
    if (factor == 1) tensor_row(cell.candidate, 0, "gradient", embedding_weight).l2 *= 3;

    EXPECT_THAT(
        expect_fails(cell, "gradients").words,
        EndsWith(factor == 1
                     ? "; in step 0 all gradients of stage 0, and none of stage 1, differ"
                     : "; in step 0 all gradients of stage 0, and none of stage 1, are 5 times the reference's: "
                       "as many as microbatches"));
  }
}

TEST(GradientFactor, OfOneTensorAloneIsNone) {
  SyntheticCell cell;
  scale_gradients(cell, 5, is_tied);  // two copies of one tensor

  EXPECT_THAT(expect_fails(cell, "gradients").words, Not(HasSubstr("as many as")));
}

TEST(GradientFactor, OfSixteenBitsMayBeRounded) {
  SyntheticCell cell;
  for (TensorRow& row : cell.rows(&RankRecord::tensors))
    if (row.kind == "gradient") row.dtype = "bfloat16";
  scale_gradients(cell, 5, [](const auto&) { return true; });
  tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").l2 *= 1.002;

  EXPECT_THAT(result_of(cell.judge(), "gradients").reason,
              HasSubstr("5 times the reference's: as many as microbatches"));
}

TEST(TiedGradients, ThatWereNotSummedAreNamedInTheFirstDivergence) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", embedding_weight).digest = other_digest;

  EXPECT_THAT(cell.judge().first_divergence.value().words,
              HasSubstr("the stages have different gradients of the tied weight "
                        "lm_head.weight/model.embed_tokens.weight: sum them over its copies"));
}

TEST(TiedGradients, OfTheSameSizeMayBeOfOneLeafInTheReference) {
  for (const double factor : {1.0, 1.0 + 1e-7, 1.01}) {
    for (const bool external : {true, false}) {
      SyntheticCell cell;
      if (external) make_external(cell);
      scale_gradients(cell, factor, is_tied);

      const std::string words = expect_fails(cell, "gradients").words;

      const bool named = external && factor < 1.001;
      EXPECT_EQ(words.find("give the one device two copies (docs/judge-your-trainer.md") != std::string::npos, named)
          << words;
      EXPECT_THAT(words, Not(HasSubstr("clip_norm=")));
    }
  }
}

TEST(LossFactor, IsNamedByItsCountAndWhereGradientsAgreeWithTheWayOut) {
  for (const bool gradients_agree : {true, false}) {
    SyntheticCell cell;
    scale_losses(cell, 10);
    if (!gradients_agree) tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;

    const std::string words = expect_fails(cell, "loss", {.step = 0, .microbatch = 0}).words;

    EXPECT_THAT(words,
                HasSubstr("all losses of step 0 are 10 times the reference's: as many as valid tokens in the step"));
    EXPECT_EQ(words.find("loss_scaling=\"after\"") != std::string::npos, gradients_agree) << words;
    EXPECT_EQ(words.find("before they are divided") != std::string::npos, !gradients_agree) << words;
  }
}

TEST(StillWeights, AreNamedByStageAndStep) {
  for (const std::int64_t step : {0, 1}) {
    for (const bool of_reference : {false, true}) {
      SyntheticCell cell({.tied = false});
      SyntheticRun& run = of_reference ? cell.reference : cell.candidate;
      for (TensorRow& row : run.rows(&RankRecord::tensors)) {
        const bool first = row.name.find("embed_tokens") + 1 > 0 || row.name.find("layers.0.") != std::string::npos;
        if (row.kind != "parameter" || row.step != step || !first) continue;
        row.digest = tensor_row(run, step - 1, "parameter", row.name).digest;
      }

      const std::string words = expect_fails(cell, "parameters", {.step = step, .stage = 0}).words;

      EXPECT_THAT(words, HasSubstr(std::string(of_reference ? "the reference's: " : "") +
                                   (step == 0 ? "stage 0's weights did not change in step 0 (they have the bits of the "
                                                "start)"
                                              : "stage 0's weights did not change in step 1 (they have the bits of "
                                                "step 0)")));
    }
  }
}

TEST(StillWeights, NameTheOptimizerThatDidNotStep) {
  SyntheticCell cell({.tied = false});
  make_external(cell);
  for (StepRow& row : cell.rows(&RankRecord::steps)) row.updated = true;
  cell.candidate.ranks[0].steps[1].updated = false;
  for (TensorRow& row : cell.candidate.ranks[0].tensors) {
    if (row.kind == "parameter" && row.step == 1)
      row.digest = tensor_row(cell.candidate, 0, "parameter", row.name).digest;
  }

  EXPECT_THAT(expect_fails(cell, "parameters", {.step = 1}).words,
              HasSubstr("stage 0's weights did not change in step 1 (they have the bits of step 0); rank 0's optimizer "
                        "did not step in step 1"));
}

TEST(StillWeights, AreNotNamedIfOneOfTheStageMoved) {
  SyntheticCell cell({.tied = false});
  TensorRow& row = tensor_row(cell.candidate, 1, "parameter", embedding_weight);
  row.digest = tensor_row(cell.candidate, 0, "parameter", embedding_weight).digest;

  const std::string words = expect_fails(cell, "parameters", {.step = 1}).words;

  EXPECT_THAT(words, Not(HasSubstr("did not change")));
  EXPECT_THAT(words, HasSubstr("; it has the reference's bits of step 0"));
}

TEST(TensorLook, NamesWhatItsRowShows) {
  const std::string gate = "model.layers.0.mlp.gate_proj.weight";
  for (const auto& [change, words] :
       {std::pair<void (*)(TensorRow&, SyntheticCell&), const char*>{
            [](TensorRow&row, SyntheticCell&) { row.l2 = 0, row.max_abs = 0, row.nonzero = 0, row.nonzero_rows = 0; },
            "; the candidate's is all zeros"},
        {[](TensorRow&, SyntheticCell&) {}, "; as of other signs or another order of its elements"},
        {[](TensorRow&row, SyntheticCell&cell) {
           row.digest = tensor_row(cell.reference, 1, "gradient", "model.layers.0.mlp.up_proj.weight").digest;
         },
         "; it has the bits of the reference's model.layers.0.mlp.up_proj.weight"},
        {[](TensorRow&row, SyntheticCell&cell) {
           row.digest = tensor_row(cell.reference, 0, "gradient", row.name).digest;
         },
         "; it has the reference's bits of step 0"}}) {
    SyntheticCell cell;
    TensorRow& row = tensor_row(cell.candidate, 1, "gradient", gate);
    row.digest = other_digest;
    change(row, cell);

    EXPECT_THAT(result_of(cell.judge(), "gradients").reason, HasSubstr(words));
  }
}

}  // namespace
}  // namespace plumbline::testing
