// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/judge.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "harness/commands/compare.hpp"
#include "harness/judge/checks/checks.hpp"
#include "record/digest.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Judge, HoldsForTwoRanksThatAgree) {
  SyntheticCell cell;

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty());
  EXPECT_THAT(with_outcome(verdict, Outcome::incomplete), IsEmpty());
  EXPECT_THAT(with_outcome(verdict, Outcome::does_not_apply),
              ElementsAre("as_asked", "applied", "buffers", "evaluation", "resume", "replicas", "repeatability"));
  EXPECT_FALSE(verdict.first_divergence);
  EXPECT_EQ(result_of(verdict, "gradients").compared.at("tensors"), 21 * synthetic_steps);
  EXPECT_EQ(result_of(verdict, "boundaries").compared.at("tensors"), 2 * 2 * synthetic_microbatches * synthetic_steps);
}

TEST(Judge, FiguresOfTheMissionAreInEveryVerdict) {
  SyntheticCell full, empty(with_empty_stage());
  const CellVerdict verdict = full.judge(), of_empty = empty.judge();

  EXPECT_EQ(result_of(verdict, "nonzero_gradients").evidence, (Counts{{"parameters", 21}, {"lm_head.weight", 1}}));
  EXPECT_EQ(result_of(verdict, "data").evidence, (Counts{{"lengths_in_a_step", 4}}));
  EXPECT_EQ(result_of(verdict, "memory").evidence.at("activation_peak_permille_of_model"), 1000);
  EXPECT_FALSE(result_of(verdict, "boundaries").evidence.contains("crossings_of_empty_stages"));
  // Two crossings, into the empty stage and out of it, both ways.
  EXPECT_EQ(result_of(of_empty, "boundaries").evidence.at("crossings_of_empty_stages"),
            2 * 2 * synthetic_microbatches * synthetic_steps);
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
  EXPECT_THAT(with_outcome(verdict, Outcome::does_not_apply),
              ElementsAre("as_asked", "applied", "tied_weights", "buffers", "evaluation", "resume", "replicas",
                          "repeatability"));
}

TEST(Judge, GivesEachCheckOnceInTheOrderOfTheTable) {
  SyntheticCell cell;

  const CellVerdict verdict = cell.judge();

  std::vector<std::string> names;
  for (const auto& check : verdict.checks) names.push_back(check.name);
  EXPECT_EQ(names, check_names());  // which docs/checks.md lists: the test docs compares them
}

TEST(Judge, NamesTheEarliestDivergenceOfAllChecks) {
  SyntheticCell cell;
  tensor_row(cell.candidate, 0, "gradient", "model.layers.1.mlp.up_proj.weight").digest = other_digest;
  boundary_row(cell.candidate, 1, 0, "forward", "layers.1", "receive").digest = other_digest;
  tensor_row(cell.candidate, 0, "parameter", "model.embed_tokens.weight").digest = other_digest;

  expect_red(cell, {"boundaries", "gradients", "parameters", "tied_weights"},
             {.level = "R3", .step = 0, .stage = 1, .item = "model.layers.1.mlp.up_proj.weight"});
}

TEST(Judge, PutsAMicrobatchsLossBetweenItsForwardAndItsBackwardBoundaries) {
  SyntheticCell cell;
  boundary_row(cell.candidate, 0, 2, "backward", "layers.1", "send").digest = other_digest;
  for (auto& row : cell.candidate.ranks[1].microbatches) {
    if (row.step == 0 && row.microbatch == 2) row.loss = *row.loss + 1e-6F;
  }

  expect_finding(cell.judge().first_divergence.value(), {.level = "R1", .microbatch = 2});
}

TEST(Judge, SkipsUnselectedChecksAndSaysSo) {
  SyntheticCell cell;
  cell.plan.checks = {"loss", "gradients"};
  tensor_row(cell.candidate, 0, "parameter", "model.norm.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_FALSE(result_of(verdict, "parameters").required);
  EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::incomplete);
  EXPECT_TRUE(result_of(verdict, "completion").required);
}

// Each comparison, made of nothing but zeros in both records: equal, and unable to tell a fault.
TEST(Judge, AComparisonOfOnlyZerosDoesNotHold) {
  SyntheticCell cell;
  for (RankRecord& rank : cell.all_ranks()) {
    for (auto& row : rank.tensors) {
      if (row.kind == "parameter") continue;  // the moments of such gradients are zeros as well
      row.digest =
          tensor_digest(row.dtype, row.shape, std::vector<std::byte>(static_cast<std::size_t>(4 * row.nonzero)));
      row.l2 = row.max_abs = 0, row.nonzero = 0;
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

  expect_red(cell, {"nonzero_gradients"});
}

TEST(Judge, GapsOfASingleStepAreNamedButDoNotFail) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) keep_first_step(*run);

  const CellVerdict verdict = cell.judge();

  for (const char* name : {"gradients", "parameters"}) {
    EXPECT_EQ(result_of(verdict, name).outcome, Outcome::holds) << comparison_text(verdict);
    EXPECT_THAT(result_of(verdict, name).not_shown, Contains(HasSubstr("the run has only one step"))) << name;
  }
  SyntheticCell two;
  for (const auto& check : two.judge().checks) EXPECT_THAT(check.not_shown, IsEmpty()) << check.name;
}

TEST(Judge, UnchangedParametersAreNamedAsShowingNoUpdate) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) keep_start(*run);

  EXPECT_THAT(expect_outcome(cell, "parameters", Outcome::holds).not_shown, ElementsAre(HasSubstr("a wrong update")));
}

TEST(Judge, RefusesAnUnknownCheck) {
  SyntheticCell cell;
  cell.plan.checks = {"gradient"};

  EXPECT_THAT(error_of<InputError>([&] { cell.judge(); }), HasSubstr("did you mean `gradients`"));
}

TEST(Judge, JudgesNothingAfterAnotherStart) {
  SyntheticCell cell;
  tensor_row(cell.candidate, -1, "parameter", "model.layers.1.input_layernorm.weight").digest = other_digest;
  tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("parameters"));
  EXPECT_THAT(
      with_outcome(verdict, Outcome::incomplete),
      ElementsAre("loss", "boundaries", "gradients", "nonzero_gradients", "gradient_norm", "applied", "buffers"));
  EXPECT_THAT(result_of(verdict, "gradients").reason, HasSubstr("the two runs start differently"));
  expect_finding(*verdict.first_divergence, {.step = -1, .item = "model.layers.1.input_layernorm.weight"});
}

TEST(Judge, NotApplicableFollowsFromPlanAndManifestAlone) {
  CellPlan plan;
  Manifest manifest;
  manifest.device = "cpu";

  EXPECT_TRUE(not_applicable("repeatability", plan, manifest));
  EXPECT_FALSE(not_applicable("memory", plan, manifest));

  plan.repeat = true;
  manifest.device = "cuda";
  EXPECT_FALSE(not_applicable("repeatability", plan, manifest));
  EXPECT_FALSE(not_applicable("memory", plan, manifest)) << "memory is judged on every device";
}

TEST(Judge, TheVerdictNamesItsCase) {
  SyntheticCell cell;
  cell.plan.run = "run";
  cell.plan.model = "model";
  cell.plan.schedule = "1f1b";
  cell.plan.optimizer = "as planned";
  cell.plan.balance = {1, 2};
  cell.plan.variant = "variant";
  cell.plan.reference = "of";
  cell.plan.command = "command";
  cell.plan.launch = LaunchFinding{};
  cell.plan.launch->seconds = 2.5;
  cell.candidate.manifest["versions"] = {{"libtorch", "9"}};

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(std::tie(verdict.id, verdict.run, verdict.model, verdict.schedule, verdict.optimizer, verdict.world),
            std::make_tuple("synthetic", "run", "model", "1f1b", "as planned", 2));
  EXPECT_EQ(std::tie(verdict.variant, verdict.reference, verdict.command, verdict.seconds),
            std::make_tuple("variant", "of", "command", 2.5));
  EXPECT_THAT(verdict.balance, ElementsAre(1, 2));
  EXPECT_EQ(verdict.versions, (Json{{"libtorch", "9"}, {"device", "cpu"}, {"transport", "mpi"}}));
}

TEST(Judge, WithoutAPlanTheCandidatesManifestCounts) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest.erase("transport");

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(verdict.optimizer, "adamw");
  EXPECT_EQ(verdict.versions, (Json{{"device", "cpu"}, {"transport", nullptr}}));
}

TEST(Judge, StepsOfAThinnedRecordAlsoHaveTheRunsNumber) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external", run->manifest["every"] = 4;
  tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

  const CellVerdict verdict = cell.judge();

  for (const auto& words : {verdict.first_divergence->words, result_of(verdict, "gradients").first_divergence->words})
    EXPECT_THAT(words, ::testing::EndsWith(" (step 4 of the run)"));
  for (const auto& check : verdict.checks) {
    const bool of_completion = check.name == "completion";
    EXPECT_EQ(std::ranges::count_if(check.not_shown,
                                    [](const auto& line) { return line.starts_with("the steps in between"); }),
              of_completion ? 1 : 0)
        << check.name;
  }
}

TEST(Judge, TheFirstStepAndTheStartHaveNoOtherNumberInTheRun) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external", run->manifest["every"] = 4;
  tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;

  EXPECT_THAT(cell.judge().first_divergence->words, ::testing::Not(HasSubstr("of the run")));
}

TEST(Judge, OptionalPartsThatAnExternalRecordLacksAreListed) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.ranks[0].memory[1].activation_peak_bytes.reset();

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::incomplete);
  EXPECT_FALSE(result_of(verdict, "memory").required);
  EXPECT_TRUE(verdict.holds);
}

TEST(Judge, AnExternalReferenceLacksWhatAnExternalRecordMayLack) {
  SyntheticCell cell;
  cell.reference.manifest["role"] = "external";
  for (auto& rank : cell.reference.ranks) rank.saved.clear();

  const CellVerdict verdict = cell.judge();

  EXPECT_THAT(result_of(verdict, "memory").reason, HasSubstr("saved.csv of the reference"));
  EXPECT_FALSE(result_of(verdict, "memory").required);
}

TEST(Judge, TensorsThatOneOfTheTwoRecordsLacksAreNotCompared) {
  for (const auto& [of_candidate, of_reference] : {std::pair{true, false}, {false, true}, {true, true}}) {
    SyntheticCell cell;
    if (of_candidate) cell.candidate.manifest["level"] = "summary";
    if (of_reference) cell.reference.manifest["level"] = "summary";

    const CellVerdict verdict = cell.judge();

    EXPECT_FALSE(verdict.holds);
    EXPECT_THAT(with_outcome(verdict, Outcome::incomplete),
                ElementsAre("census", "boundaries", "gradients", "nonzero_gradients", "applied", "parameters",
                            "tied_weights", "buffers"));
    EXPECT_TRUE(verdict.incomplete());
    cell.plan.accept_missing = {"gradients", "parameters", "buffers"};
    EXPECT_TRUE(cell.judge().holds);
    EXPECT_EQ(result_of(verdict, "gradients").reason, "a record of level summary has no tensors");
    EXPECT_EQ(result_of(verdict, "audit").outcome, Outcome::incomplete);
    EXPECT_EQ(result_of(verdict, "loss").outcome, Outcome::holds);
  }
}

TEST(Judge, ARecordWithoutTablesShowsNothing) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    (of_candidate ? cell.candidate : cell.reference).manifest["level"] = "none";

    const CellVerdict verdict = cell.judge();

    EXPECT_FALSE(verdict.holds);
    for (const auto& check : verdict.checks)
      EXPECT_EQ(check.outcome == Outcome::holds, check.name == "completion") << check.name;
    EXPECT_THAT(result_of(verdict, "loss").reason, HasSubstr(of_candidate ? "the candidate's record has level none"
                                                                          : "the reference's record has level none"));
  }
}

TEST(Judge, EveryReasonAgainstComparingIsReported) {
  SyntheticCell cell;
  cell.plan.checks = {"loss"};
  cell.candidate.manifest["seed"] = 7;
  cell.candidate.manifest["clip_norm"] = 7.0;

  const CellVerdict verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  const CheckResult& data = result_of(verdict, "data");
  EXPECT_EQ(data.outcome, Outcome::differs) << "though it was not asked for";
  EXPECT_EQ(data.first_divergence->item, "manifest.json");
  EXPECT_THAT(data.reason, HasSubstr("(2 differences in all; in that step: manifest.json)"));
  EXPECT_THAT(data.reason, HasSubstr("seed is 1 in the reference and 7 in the candidate; clip_norm is 1 in"));
  EXPECT_EQ(result_of(verdict, "loss").reason, "the records cannot be compared: see data");
}

TEST(Judge, ACrashSeenOnlyInTheTablesDiscardsEarlierFindings) {
  SyntheticCell other, differing;
  for (SyntheticCell* cell : {&other, &differing}) cell->candidate.ranks[1].exit->last_action = "1B4";
  other.candidate.manifest["seed"] = 7;
  tensor_row(differing.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;

  for (SyntheticCell* cell : {&other, &differing}) {
    const CellVerdict verdict = cell->judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("completion"));
    EXPECT_EQ(result_of(verdict, "data").outcome, Outcome::incomplete);
    EXPECT_EQ(result_of(verdict, "gradients").reason, "a run did not complete: see completion");
    EXPECT_EQ(verdict.checks.size(), check_names().size());
  }
}

TEST(Judge, DifferentMachinesAreNamedIfBitsDifferOrARunEndedEarly) {
  for (const bool ends : {false, true}) {
    SyntheticCell cell;
    cell.reference.manifest["machine"] = {{"aten_capability", "AVX512"}};
    cell.candidate.manifest["machine"] = {{"aten_capability", "DEFAULT"}};
    tensor_row(cell.candidate, 0, "gradient", "model.norm.weight").digest = other_digest;
    if (ends) cell.candidate.ranks[1].exit->last_action = "1B4";

    EXPECT_THAT(cell.judge().first_divergence->words,
                HasSubstr("other kernels are possible: aten_capability AVX512 against DEFAULT"));
  }
}

TEST(Judge, APipelineAsReferenceHasNoActivationModel) {
  for (const bool of_one_rank : {true, false}) {
    SyntheticCell cell;
    cell.reference = synthetic_candidate(of_one_rank ? one_stage() : SyntheticPlan{});
    if (!of_one_rank) cell.reference.manifest["role"] = "external";
    for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;
    EXPECT_THAT(expect_outcome(cell, "memory", Outcome::does_not_apply).reason,
                HasSubstr(of_one_rank ? "a pipeline of 1 ranks" : "a pipeline of 2 ranks"));
  }
}

}  // namespace
}  // namespace plumbline::testing
