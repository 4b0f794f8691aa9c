// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Gradients, ZeroGradMissingShowsFromTheSecondStepOn) {
  SyntheticCell cell;
  for (TensorRow& row : cell.candidate.rows(&RankRecord::tensors)) {
    if (row.kind == "gradient" && row.step == 1) row.digest = other_digest;
  }
  expect_red(cell, {"gradients"}, {.level = "R3", .step = 1, .item = "model.norm.weight"});
}

// What is wrong goes on to all that stand in front of it: the last in the model is where it began.
TEST(Gradients, AFaultWithinAStageIsNamedNearestToTheEndOfTheModel) {
  SyntheticCell cell;
  for (const char* name : {"self_attn.q_proj", "mlp.gate_proj", "mlp.down_proj", "input_layernorm"})
    tensor_row(cell.candidate, 0, "gradient", "model.layers.0." + std::string(name) + ".weight").digest = other_digest;

  expect_red(cell, {"gradients"}, {.step = 0, .item = "model.layers.0.mlp.down_proj.weight"});
}

/// All gradients of the candidate's first step so many times the reference's.
void multiply_gradients(SyntheticCell& cell, double factor) {
  for (TensorRow& row : cell.candidate.rows(&RankRecord::tensors)) {
    if (row.kind != "gradient" || row.step != 0) continue;
    row.l2 *= factor, row.max_abs *= static_cast<float>(factor);
    row.digest[0] = row.digest[0] == 'f' ? 'e' : 'f';
  }
}

TEST(Gradients, OfOneFactorAreToldAsThat) {
  struct Case {
    double factor;
    const char* words;
  };
  for (const auto& [factor, words] :
       {Case{5, "all gradients of step 0 are 5 times the reference's: as many as microbatches"},
        Case{0.2, "all gradients of step 0 are 1/5 of the reference's: as many as microbatches"},
        Case{10, "all gradients of step 0 are 10 times the reference's: as many as valid tokens in the step"},
        Case{2, "all gradients of step 0 are 2 times the reference's: as many as stages"},
        Case{7, "all gradients of step 0 are 7 times the reference's"}}) {
    SyntheticCell cell;
    multiply_gradients(cell, factor);
    EXPECT_EQ(expect_fails(cell, "gradients", {.words = words}).size, words);
  }
}

TEST(Gradients, ThatHaveNoFactorInCommonOrAreAsLargeAsTheyWereAreNot) {
  for (const bool equal : {true, false}) {
    SyntheticCell cell;
    multiply_gradients(cell, equal ? 1 : 5);
    if (!equal) tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").l2 *= 1 + 3e-6;

    EXPECT_THAT(result_of(cell.judge(), "gradients").reason, ::testing::Not(HasSubstr("all gradients")));
  }
}

TEST(Gradients, OfOneFactorAreTheSizeOfABoundarysGradientAndComeBeforeTheLoss) {
  SyntheticCell cell;
  multiply_gradients(cell, 5);
  for (const char* side : {"send", "receive"})
    boundary_row(cell.candidate, 0, 0, "backward", "layers.1", side).digest = other_digest;
  for (MicrobatchRow& row : cell.candidate.rows(&RankRecord::microbatches))
    if (row.loss) *row.loss *= 5;
  for (StepRow& row : cell.candidate.rows(&RankRecord::steps))
    if (row.loss) *row.loss *= 5;

  const auto verdict = cell.judge();

  EXPECT_THAT(result_of(verdict, "boundaries").first_divergence.value().size, HasSubstr("are 5 times the reference's"));
  const auto& loss = result_of(verdict, "loss").first_divergence.value();
  EXPECT_THAT(loss.size, HasSubstr("check the gradients first: all gradients of step 0 are 5 times"));
  EXPECT_THAT(loss.size, ::testing::Not(HasSubstr("before they are divided")));
}

TEST(Gradients, TiedGradientsThatWereNotReducedNameTheTiedWeightOnly) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", embedding_weight).digest = other_digest;
  tensor_row(cell.candidate, 0, "gradient", head_weight).digest = "1" + other_digest.substr(1);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("gradients", "tied_weights"));
  EXPECT_THAT(result_of(verdict, "gradients").reason,
              HasSubstr("in that step: model.embed_tokens.weight, lm_head.weight)"));
}

TEST(Gradients, EachWayInWhichARowIsWrongIsTold) {
  expect_each_red(
      {"gradients"},
      {{"dtype",
        [](auto& cell) { tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").dtype = "float64"; },
        {.step = 1, .item = "model.norm.weight", .words = "the dtype differs"}},
       {"shape",
        [](auto& cell) {
          tensor_row(cell.candidate, 0, "gradient", "model.layers.0.mlp.down_proj.weight").shape = {6, 4};
        },
        {.step = 0, .item = "model.layers.0.mlp.down_proj.weight", .words = "shape"}},
       {"the same bits with other rows that are not zero",
        [](auto& cell) {
          auto& row = tensor_row(cell.candidate, 1, "gradient", "model.layers.0.mlp.gate_proj.weight");
          row.nonzero_rows = *row.nonzero_rows - 1;
        },
        {.words = "nonzero_rows"}}});
  expect_each_red({"gradients", "nonzero_gradients"},
                  {{"infinite",
                    [](auto& cell) { tensor_row(cell.candidate, 1, "gradient", head_weight).inf = 2; },
                    {.step = 1, .item = head_weight, .words = "2 infinite"}},
                   {"missing",
                    [](auto& cell) {
                      std::erase_if(cell.candidate.ranks[1].tensors, [](const auto& row) {
                        return row.kind == "gradient" && row.name == "model.norm.weight" && row.step == 0;
                      });
                    },
                    {.step = 0, .item = "model.norm.weight"}}});
}

TEST(Gradients, NanInBothRecordsNamesTheFirstTensorThatHoldsIt) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    tensor_row(*run, 0, "gradient", "model.layers.1.self_attn.v_proj.weight").nan = 1;
    tensor_row(*run, 0, "parameter", embedding_weight).nan = 3;
  }

  expect_red(cell, {"gradients", "nonzero_gradients", "parameters"},
             {.step = 0, .item = "model.layers.1.self_attn.v_proj.weight", .words = "1 NaN"});
}

TEST(Gradients, WhatIsNoNumberIsToldOfTheRecordThatHasIt) {
  for (const bool of_reference : {true, false}) {
    SyntheticCell cell;
    auto& row = tensor_row(of_reference ? cell.reference : cell.candidate, 0, "gradient", embedding_weight);
    row.inf = 1;
    row.digest = other_digest;

    EXPECT_THAT(result_of(cell.judge(), "gradients").reason,
                HasSubstr((of_reference ? "the reference's own tensor" : "the candidate's tensor") +
                          std::string(" holds 0 NaN and 1 infinite")));
  }
}

TEST(Gradients, FrozenParameterHasNoRowAndIsNotMissed) {
  SyntheticCell cell;
  // Of 20 gradients of one size, the tied weight once, 19 are left to make up the norm.
  const double grown = std::sqrt(20.0 / 19.0);
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["frozen"] = {"model.norm.weight"};
    for (auto& rank : run->ranks) {
      std::erase_if(rank.tensors,
                    [](const auto& row) { return row.name == "model.norm.weight" && row.kind != "parameter"; });
      for (auto& row : rank.tensors) {
        if (row.kind == "gradient" || row.kind == "moment1") row.l2 *= grown;
        if (row.name == "model.norm.weight") row.digest = other_digest;  // it stays as it is
      }
      // 4 elements of fp32: gradient 16 bytes, two moments and a step count 36 bytes
      if (run->ranks.size() > 1 && rank.rank == 0) continue;
      for (auto& row : rank.memory) {
        *row.gradient_bytes -= 16, *row.optimizer_bytes -= 36;
        *row.live_bytes -= 16 + 36, *row.peak_bytes -= 16 + 36;
      }
    }
  }
  const auto verdict = cell.judge();
  EXPECT_TRUE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ::testing::IsEmpty())
      << verdict.first_divergence.value_or(Finding{}).words;
}

/// Other people's run, in which no loss depends on the norm's weight.
void leave_unused(SyntheticRun& run, bool unmoved) {
  const std::string name = "model.norm.weight";
  run.manifest["role"] = "external";
  for (std::int64_t step = 0; unmoved && step < synthetic_steps; ++step) {
    TensorRow& row = tensor_row(run, step, "parameter", name);
    row = tensor_row(run, -1, "parameter", name);
    row.step = step;
  }
  run.erase(&RankRecord::tensors, [&](const auto& row) { return row.name == name && row.kind != "parameter"; });
}

TEST(Gradients, OfOtherPeoplesUnusedParameterNeitherRecordHasOne) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) leave_unused(*run, true);

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "gradients").outcome, Outcome::holds) << result_of(verdict, "gradients").reason;
  EXPECT_THAT(result_of(verdict, "gradients").not_shown,
              ::testing::Contains(HasSubstr("where neither record has one")));
  EXPECT_EQ(result_of(verdict, "nonzero_gradients").outcome, Outcome::holds);
  EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::holds) << result_of(verdict, "parameters").reason;
}

TEST(Gradients, AParameterThatMovesHasOne) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) leave_unused(*run, false);

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "gradients").outcome, Outcome::differs);
  EXPECT_EQ(result_of(verdict, "nonzero_gradients").outcome, Outcome::differs);
}

TEST(Gradients, OfAFrozenParameterMayBeThereInBothRecordsOrInNone) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["frozen"] = {"model.norm.weight"};
  std::erase_if(cell.candidate.ranks[1].tensors,
                [](const TensorRow& row) { return row.kind != "parameter" && row.name == "model.norm.weight"; });
  EXPECT_THAT(result_of(cell.judge(), "gradients").reason, HasSubstr("the candidate has no such row"));
}

TEST(Gradients, HaveTheParametersShapeInBothRecords) {
  const std::string name = "model.layers.0.mlp.gate_proj.weight";
  for (const std::string kind : {"gradient", "moment1", "moment2"}) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) {
      TensorRow& row = tensor_row(*run, 1, kind, name);
      std::ranges::reverse(row.shape);
      row.nonzero_rows = row.shape[0];
    }

    const std::string check = kind == "gradient" ? "gradients" : "parameters";

    EXPECT_THAT(result_of(cell.judge(), check).reason,
                HasSubstr("the reference's own has another shape than the parameter (expected 6x4, got 4x6)"));
  }
}

TEST(Gradients, ThatNeitherRecordHasMakeTheCaseIncomplete) {
  for (const bool both : {true, false}) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["role"] = "external";
      if (!both && run == &cell.reference) continue;
      run->erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "gradient"; });
    }

    const auto verdict = cell.judge();

    EXPECT_EQ(result_of(verdict, "gradients").outcome, both ? Outcome::incomplete : Outcome::differs);
    EXPECT_EQ(result_of(verdict, "nonzero_gradients").outcome, both ? Outcome::does_not_apply : Outcome::differs);
    EXPECT_EQ(verdict.incomplete(), both);
    if (both) {
      EXPECT_THAT(missing_words(verdict.checks, false),
                  AllOf(::testing::StartsWith("gradients were not compared"), HasSubstr("gradient_of=")));
    }
  }
}

TEST(Gradients, OfEqualSizesMayBeClippedByTheTrainerWhichSaysNothingOfItsNorm) {
  for (const bool says_nothing : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    for (auto* run : {&cell.reference, &cell.candidate}) {
      if (says_nothing) run->manifest["clip_norm"] = nullptr;
      for (StepRow& row : run->rows(&RankRecord::steps))
        row.clip_coefficient = says_nothing ? 1 : *row.clip_coefficient;
    }
    for (const char* name : {"model.norm.weight", "lm_head.weight"})
      tensor_row(cell.candidate, 1, "gradient", name).digest = other_digest;

    const Finding found = expect_fails(cell, "gradients", {.step = 1});
    EXPECT_EQ(found.words.find("if the trainer clips by a norm of its own") != std::string::npos, says_nothing);
  }
}

}  // namespace
}  // namespace plumbline::testing
