#include "harness/judge/judge.hpp"

#include <gmock/gmock.h>

#include "harness/commands/compare.hpp"
#include "record/digest.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Judge, HoldsForTwoRanksThatAgreeInEverything) {
  SyntheticCell cell;

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), IsEmpty());
  EXPECT_THAT(with_outcome(verdict, Outcome::not_run), IsEmpty());
  EXPECT_THAT(with_outcome(verdict, Outcome::not_applicable),
              ElementsAre("as_asked", "evaluation", "empty_partitions", "resume", "replicas", "repeatability"));
  EXPECT_FALSE(verdict.first_divergence);
  EXPECT_EQ(result_of(verdict, "gradients").compared.at("tensors"), 21 * synthetic_steps);
  EXPECT_EQ(result_of(verdict, "boundaries").compared.at("tensors"), 2 * 2 * synthetic_microbatches * synthetic_steps);
}

TEST(Judge, HoldsAtWorldSizeOneWithoutAnyCrossing) {
  SyntheticCell cell(one_stage());

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(result_of(verdict, "boundaries").reason, HasSubstr("no byte was moved"));
}

TEST(Judge, HoldsWithAnEmptyStageUntiedWithSgdUnderAfab) {
  SyntheticPlan plan = with_empty_stage();
  plan.tied = false;
  plan.optimizer = "sgd";
  plan.schedule = "afab";
  SyntheticCell cell(plan);

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(with_outcome(verdict, Outcome::not_applicable),
              ElementsAre("as_asked", "evaluation", "resume", "replicas", "repeatability"));
}

TEST(Judge, GivesEachCheckOnceInTheOrderOfTheTable) {
  SyntheticCell cell;

  const CellVerdict verdict = cell.judge();

  std::vector<std::string> names;
  for (const auto& check : verdict.checks) names.push_back(check.name);
  EXPECT_EQ(names, check_names());
  EXPECT_THAT(names,
              ElementsAre("as_asked", "completion", "data", "census", "loss", "boundaries", "gradients",
                          "nonzero_gradients", "gradient_norm", "parameters", "evaluation", "audit", "empty_partitions",
                          "variable_lengths", "memory", "conformance", "resume", "replicas", "repeatability"));
}

TEST(Judge, NamesTheEarliestDivergenceOfAllChecks) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", "model.layers.1.mlp.up_proj.weight").digest = other_digest;
  boundary_row(cell.candidate, 1, 0, "forward", "layers.1", "receive").digest = other_digest;
  tensor_row(cell.candidate, 0, "parameter", "model.embed_tokens.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("boundaries", "gradients", "parameters"));
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->rung, "R3");
  EXPECT_EQ(verdict.first_divergence->item, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(verdict.first_divergence->step, 0);
  EXPECT_EQ(verdict.first_divergence->stage, 1);
}

TEST(Judge, PutsAMicrobatchsLossBetweenItsForwardAndItsBackwardBoundaries) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 0, 2, "backward", "layers.1", "send").digest = other_digest;
  for (auto& row : cell.candidate.ranks[1].microbatches) {
    if (row.step == 0 && row.microbatch == 2) row.loss = *row.loss + 1e-6F;
  }

  const CellVerdict verdict = cell.judge();

  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->rung, "R1");
  EXPECT_EQ(verdict.first_divergence->microbatch, 2);
}

TEST(Judge, LeavesOutWhatWasNotAskedForButSaysSo) {
  SyntheticCell cell;
  cell.plan.checks = {"loss", "gradients"};
  tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "parameters").requirement, Requirement::told);
  EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::not_run);
  EXPECT_EQ(result_of(verdict, "completion").requirement, Requirement::required);
}

// Each comparison, made of nothing but zeros in both records: equal, and unable to tell a fault.
TEST(Judge, AComparisonOfZerosAloneIsNotTriggered) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.tensors) {
        if (row.kind == "parameter") continue;  // the moments of such gradients are zeros as well
        row.digest =
            tensor_digest(row.dtype, row.shape, std::vector<std::byte>(static_cast<std::size_t>(4 * row.nonzero)));
        row.l2 = 0;
        row.max_abs = 0;
        row.nonzero = 0;
        if (row.nonzero_rows) row.nonzero_rows = 0;
      }
      for (auto& row : rank.boundaries) {
        row.digest = tensor_digest(row.dtype, row.shape, std::vector<std::byte>(static_cast<std::size_t>(row.bytes)));
      }
      for (auto& row : rank.microbatches) {
        if (row.loss) row.loss = 0.0F;
      }
      for (auto& row : rank.steps) {
        if (row.loss) row.loss = 0.0F;
        row.gradient_norm = 0;
        row.clip_coefficient = 1;
      }
    }
  }

  const CellVerdict verdict = cell.judge();

  for (const char* name : {"loss", "boundaries", "gradients"}) {
    EXPECT_EQ(result_of(verdict, name).outcome, Outcome::not_triggered) << name;
    EXPECT_EQ(result_of(verdict, name).requirement, Requirement::required) << name;
  }
  EXPECT_FALSE(verdict.holds);
}

TEST(Judge, WhatOneStepCannotShowIsToldAndKeepsNothingFromHolding) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) keep_first_step(*run);

  const CellVerdict verdict = cell.judge();

  for (const char* name : {"gradients", "parameters", "memory"}) {
    EXPECT_EQ(result_of(verdict, name).outcome, Outcome::holds) << comparison_text(verdict);
    EXPECT_THAT(result_of(verdict, name).not_shown, Contains(HasSubstr("the run has one step"))) << name;
  }
  SyntheticCell two;
  for (const auto& check : two.judge().checks) {
    if (check.name == "audit") {  // without values, whatever the number of steps
      EXPECT_THAT(check.not_shown, ElementsAre("values: a record of level full holds none"));
    } else {
      EXPECT_THAT(check.not_shown, IsEmpty()) << check.name;
    }
  }
}

TEST(Judge, ParametersThatNoStepMovedAreToldToShowNoUpdate) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.tensors) {
        if (row.kind == "parameter" && row.step >= 0) row.digest = tensor_row(*run, -1, "parameter", row.name).digest;
      }
    }
  }

  const auto result = result_of(cell.judge(), "parameters");

  EXPECT_EQ(result.outcome, Outcome::holds);
  EXPECT_THAT(result.not_shown, ElementsAre(HasSubstr("a wrong update")));
}

TEST(Judge, RefusesACheckThatThereIsNot) {
  SyntheticCell cell;
  cell.plan.checks = {"gradient"};

  EXPECT_THAT(error_of<InputError>([&] { cell.judge(); }), HasSubstr("did you mean `gradients`"));
}

TEST(Judge, JudgesNothingAfterAnotherStart) {
  SyntheticCell cell;
  tensor_row(cell.candidate, -1, "parameter", "model.layers.1.input_layernorm.weight").digest = other_digest;
  tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("parameters"));
  EXPECT_THAT(with_outcome(verdict, Outcome::not_run),
              ElementsAre("loss", "boundaries", "gradients", "nonzero_gradients", "gradient_norm"));
  EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("not the same start"));
  EXPECT_EQ(verdict.first_divergence->item, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(verdict.first_divergence->step, -1);
}

TEST(Judge, SaysThatARecordOfLevelSummaryHoldsNoTensors) {
  SyntheticPlan plan;
  plan.level = "summary";
  SyntheticCell cell(plan);

  const CellVerdict verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::not_run),
              ElementsAre("census", "boundaries", "gradients", "nonzero_gradients", "parameters", "variable_lengths"));
  EXPECT_EQ(result_of(verdict, "loss").outcome, Outcome::holds);
}

TEST(Judge, NotApplicableFollowsFromPlanAndManifestAlone) {
  CellPlan plan;
  Manifest manifest;
  manifest.device = "cpu";
  manifest.microbatches = 8;
  manifest.stages = {{0, 0, {"embed_tokens", "layers.0"}}, {1, 1, {"norm", "lm_head"}}};

  EXPECT_FALSE(not_applicable("empty_partitions", plan, manifest));
  EXPECT_TRUE(not_applicable("repeatability", plan, manifest));
  EXPECT_FALSE(not_applicable("variable_lengths", plan, manifest));
  EXPECT_FALSE(not_applicable("memory", plan, manifest));

  plan.repeat = true;
  plan.lengths = {64, 64, 64};
  manifest.device = "cuda";
  manifest.stages[1].units = {"layers.1", "norm", "lm_head"};
  EXPECT_TRUE(not_applicable("empty_partitions", plan, manifest));
  EXPECT_FALSE(not_applicable("repeatability", plan, manifest));
  EXPECT_TRUE(not_applicable("variable_lengths", plan, manifest));
  EXPECT_FALSE(not_applicable("memory", plan, manifest)) << "memory is judged on every device";
}

}  // namespace
}  // namespace plumbline::testing
