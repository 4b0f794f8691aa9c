// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

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

  EXPECT_THAT(result_of(verdict, "boundaries").first_divergence.value().words,
              HasSubstr("are 5 times the reference's"));
  const auto& loss = result_of(verdict, "loss").first_divergence.value();
  EXPECT_THAT(loss.words, HasSubstr("check the gradients first: all gradients of step 0 are 5 times"));
  EXPECT_THAT(loss.words, ::testing::Not(HasSubstr("before they are divided")));
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
