// SPDX-License-Identifier: BSD-3-Clause
// Where checks do not apply, and which are required. Counts the former in the default sweep, so that a rule that
// disables checks is detected.
#include <gmock/gmock.h>

#include <map>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// Layers of each stage under `uniform`: evenly distributed, extra ones to the first stages; with more stages than
/// layers, one each to stages 1 ... L.
std::vector<std::int64_t> uniform(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> balance(static_cast<std::size_t>(stages), 0);
  if (stages > layers) {
    for (std::int64_t layer = 0; layer < layers; ++layer)
      ++balance[static_cast<std::size_t>(std::min(layer + 1, stages - 1))];
    return balance;
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) ++balance[static_cast<std::size_t>(layer % stages)];
  return balance;
}

Manifest manifest_of(const CellPlan& plan, const std::map<std::string, std::int64_t>& layers_of) {
  Manifest manifest;
  manifest.device = "cpu";
  manifest.microbatches = 8;
  const auto stages = plan.world * default_chunks(plan.schedule);
  const auto balance = plan.balance.empty() ? uniform(layers_of.at(plan.run), stages) : plan.balance;
  for (std::size_t stage = 0; stage < balance.size(); ++stage) {
    const auto number = static_cast<std::int64_t>(stage);
    manifest.stages.push_back(
        {number, number, std::vector<std::string>(static_cast<std::size_t>(balance[stage]), "layers.0")});
  }
  manifest.stages.front().units.emplace_back("embed_tokens");
  manifest.stages.back().units.emplace_back("lm_head");
  const bool untied = plan.run.starts_with("untied") || plan.run == "large-state";
  if (!untied) manifest.tied = {{"lm_head.weight", "model.embed_tokens.weight"}};
  return manifest;
}

TEST(Applicability, MatchesAHandCountForTwoSchedulesOfTheDefaultSweep) {
  auto plan = make_plan(read_sweep_file(std::filesystem::path(fixtures_path()) / "sweeps" / "default.toml"));
  std::erase_if(plan.cells,
                [](const auto& cell) { return cell.plan.schedule != "afab" && cell.plan.schedule != "1f1b"; });
  const std::map<std::string, std::int64_t> layers_of = {
      {"stories260k-adamw", 5}, {"stories260k-sgd", 5},        {"untied128-adamw", 4},
      {"untied128-sgd", 4},     {"equal-lengths", 5},          {"large-state", 8},
      {"given-weights", 2},     {"stories260k-adamw-bf16", 5}, {"untied128-sgd-bf16", 4}};

  std::map<std::string, int> not_applying;
  for (const auto& cell : plan.cells) {
    Manifest manifest = manifest_of(cell.plan, layers_of);
    manifest.first_step = cell.resumes_from ? cell.resumes_from->steps : 0;
    for (const auto& check : check_names()) {
      if (not_applicable(check, cell.plan, manifest)) ++not_applying[check];
    }
  }

  // 64 cases of the matrix, 8 with a balance, 2 of equal lengths, 1 of large state, 1 with given weights, 3 resumed.
  EXPECT_EQ(plan.cells.size(), 79U);
  // Untied: half of the matrix, 4 with a balance, the one of large state, 2 resumed. Tied on one stage: in the matrix
  // at P = 1 (2 optimizers, 2 schedules).
  EXPECT_EQ(not_applying["tied_weights"], 64 / 2 + 4 + 1 + 2 + 4);
  EXPECT_EQ(not_applying["repeatability"], 79 - 4);
  EXPECT_EQ(not_applying["resume"], 79 - 3);
  EXPECT_EQ(not_applying["replicas"], 79);
  EXPECT_EQ(not_applying.size(), 4U) << "every other check applies in every case";
}

/// One pipeline that starts at step 0, with several microbatches and a layer in each stage.
Manifest plain_manifest() {
  Manifest manifest;
  manifest.microbatches = 4;
  manifest.stages = {{0, 0, {"embed_tokens", "layers.0"}}, {1, 1, {"layers.1", "norm", "lm_head"}}};
  return manifest;
}

// The request decides, not what the candidate did instead. Otherwise a candidate could disable a check.
TEST(Applicability, FollowsFromTheRequestBeforeTheCandidate) {
  CellPlan requested;
  requested.request.emplace();
  requested.request->first_step = 2;
  EXPECT_FALSE(not_applicable("resume", requested, plain_manifest()));
}

TEST(Applicability, FollowsFromTheCandidateWithoutARequest) {
  CellPlan nothing_asked, no_detail_asked;
  no_detail_asked.request.emplace();
  Manifest another = plain_manifest();
  another.first_step = 1;
  for (const CellPlan& plan : {nothing_asked, no_detail_asked}) {
    EXPECT_TRUE(not_applicable("resume", plan, plain_manifest()));
    EXPECT_FALSE(not_applicable("resume", plan, another));
  }
}

TEST(Applicability, OfResumeNeedsALaterFirstStep) {
  CellPlan plan;
  plan.request.emplace();
  plan.request->first_step = 0;
  EXPECT_TRUE(not_applicable("resume", plan, plain_manifest()));
}

TEST(Applicability, OfReplicasNeedsASecondPipeline) {
  Manifest manifest = plain_manifest();
  EXPECT_TRUE(not_applicable("replicas", {}, manifest));
  manifest.mesh.emplace();
  manifest.mesh->replicas = {{0, 1}};
  EXPECT_TRUE(not_applicable("replicas", {}, manifest));
  manifest.mesh->replicas = {{0, 1}, {2, 3}};
  EXPECT_FALSE(not_applicable("replicas", {}, manifest));
}

TEST(Requirements, DifferForOurRecordsAndExternalOnes) {
  CellPlan all, one;
  one.checks = {"loss"};
  const auto of = [](const CellPlan& plan, const std::string& check, bool own = true) {
    return judging::is_required(plan, judging::check_of(check), own);
  };

  EXPECT_TRUE(of(one, "loss"));
  EXPECT_FALSE(of(one, "data"));
  EXPECT_TRUE(of(one, "completion")) << "whatever was requested";
  for (const std::string& claim : claims_of_every_case())
    EXPECT_TRUE(of(all, claim, false)) << claim << ", for records of any trainer";
  EXPECT_TRUE(of(all, "memory"));
  EXPECT_FALSE(of(all, "memory", false));
}

TEST(Requirements, AnUnknownCheckNamesTheNearestOrAll) {
  EXPECT_THAT(error_of<InputError>([] { judging::check_of("los"); }), ::testing::HasSubstr("did you mean `loss`?"));
  EXPECT_THAT(error_of<InputError>([] { judging::check_of("zzzzzzzzzzzz"); }),
              ::testing::HasSubstr("the checks are as_asked, completion"));
}

TEST(TiedWeights, ApplyToTwoStagesOfOneRankButNotToOneStage) {
  Manifest manifest;
  manifest.tied = {{"lm_head.weight", "model.embed_tokens.weight"}};
  manifest.stages = {{0, 0, {"embed_tokens"}}, {1, 1, {"layers.0"}}, {2, 0, {"norm", "lm_head"}}};
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
  manifest.tied = {{"a.weight", "b.weight"}};
  manifest.stages = {{0, 0, {"a", "b"}}, {1, 1, {"c"}}};
  EXPECT_TRUE(not_applicable("tied_weights", {}, manifest));
  manifest.tied = {{"a.weight", "of no unit"}};
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
}

TEST(TiedWeights, WithinLimitsDoNotApplyToGpusOfSeveralModels) {
  Manifest manifest;
  manifest.tied = {{"lm_head.weight", "model.embed_tokens.weight"}};
  manifest.stages = {{0, 0, {"embed_tokens"}}, {1, 1, {"lm_head"}}};
  manifest.json = {{"machine", {{"gpus", {"A100", "H100"}}}}};
  CellPlan within_limits;
  within_limits.calibration = "calibration.json";
  EXPECT_TRUE(not_applicable("tied_weights", within_limits, manifest));
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
}

}  // namespace
}  // namespace plumbline::testing
