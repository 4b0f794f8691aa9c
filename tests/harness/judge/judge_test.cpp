// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/judge.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

TEST(Judge, RunsEachCheckOnceInTheTablesOrder) {
  SyntheticCell cell;

  const CellVerdict verdict = cell.judge();

  std::vector<std::string> names;
  for (const auto& check : verdict.checks) names.push_back(check.name);
  EXPECT_EQ(names, check_names());  // the test docs compares these names with docs/checks.md
}

TEST(Judge, NotApplicableDependsOnlyOnPlanAndManifest) {
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

TEST(Judge, UsesTheCandidatesManifestWithoutAPlan) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest.erase("transport");

  const CellVerdict verdict = cell.judge();

  EXPECT_EQ(verdict.optimizer, "adamw");
  EXPECT_EQ(verdict.versions, (Json{{"device", "cpu"}, {"transport", nullptr}}));
}

TEST(Judge, ActionsMayBeInAnyOrderOfRows) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks)
    std::ranges::stable_sort(rank.actions, {}, [](const auto& row) { return std::pair(row.step, -row.index); });

  EXPECT_TRUE(cell.judge().holds);
}

TEST(Judge, AnEmptyStageBeforeTheFirstUnitHasNoBoundary) {
  SyntheticCell cell({.stages = {{}, {"embed_tokens", "layers.0"}, {"layers.1", "norm", "lm_head"}}});
  cell.candidate.erase(&RankRecord::boundaries, [](const BoundaryRow& row) { return row.cut == "embed_tokens"; });

  EXPECT_FALSE(result_of(cell.judge(), "boundaries").evidence.contains("crossings_of_empty_stages"));
}

}  // namespace
}  // namespace plumbline::testing
