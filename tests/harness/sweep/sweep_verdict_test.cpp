// SPDX-License-Identifier: BSD-3-Clause
// From what was found of references and cells to the verdict on the whole.
#include "harness/sweep/sweep_verdict.hpp"

#include "harness/judge/limits/value_comparison.hpp"
#include "reports/headline.hpp"
#include "support/files.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// References r and s, each with a cell, all of which have ended well and hold.
class SweepVerdict : public ::testing::Test {
 protected:
  SweepVerdict() {
    make_folder(out_);
    SweepFolder::write_sweep(out_, "small", "2026-11-22T10:00:00Z", nullptr);
    sweep_.name = "small";
    sweep_.selection.of_cells = 2;
    sweep_.not_applicable = {"c-w9: why"};
    for (const auto& [id, reference] : {std::pair("c", "r"), std::pair("d", "s")}) {
      CellPlan plan;
      plan.id = id;
      plan.run = "run";
      plan.model = "model";
      plan.reference = reference;
      if (plan.id == "c") plan.optimizer = "adamw", plan.bench = true, plan.lengths = {4, 4};
      sweep_.cells.push_back(plan);
      CellVerdict cell;
      cell.id = id;
      cell.holds = true;
      found_.cells.push_back(cell);
      LaunchFinding finding;
      finding.seconds = 7;
      found_.references.push_back(finding);
      folder_.file(std::string("out/references/") + reference + "/manifest.json",
                   R"({"device": "cpu", "optimizer": {"name": "sgd"}, "machine": {"cpu": ")" + std::string(reference) +
                       R"("}, "versions": {"libtorch": "2"}, "transport": "mpi"})");
    }
    judge_ = [this](const fs::path& record, const judging::BenchRequest& request) {
      asked_[record.filename().string()] = request;
      CheckResult bench;
      bench.name = "bench";
      bench.outcome = outcome_of_[record.filename().string()];
      return std::vector{bench};
    };
    outcome_of_ = {{"r", Outcome::holds}, {"s", Outcome::holds}};
  }
  Verdict verdict() { return sweep_verdict(sweep_, found_, SweepFolder(out_), judge_, {{"version", "1"}}); }

  TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
  KeptSweep sweep_;
  SweepFindings found_;
  ReferenceJudge judge_;
  std::map<std::string, judging::BenchRequest> asked_;
  std::map<std::string, Outcome> outcome_of_;
};

TEST_F(SweepVerdict, HoldsIfAllReferencesAndCasesHold) {
  const Verdict made = verdict();

  EXPECT_TRUE(made.holds);
  EXPECT_EQ(made.name, "small");
  EXPECT_EQ(made.started, "2026-11-22T10:00:00Z");
  EXPECT_EQ(made.selection.of_cells, 2);
  EXPECT_EQ(made.harness.at("version"), "1");
  EXPECT_THAT(made.not_applicable, ElementsAre("c-w9: why"));
  EXPECT_EQ(made.machine.at("machine").at("cpu"), "r") << "of the first";
  ASSERT_THAT(made.references, SizeIs(2));
  EXPECT_EQ(made.references[0].run, "run");
  EXPECT_EQ(made.references[0].model, "model");
  EXPECT_EQ(made.references[0].optimizer, "adamw");
  EXPECT_EQ(made.references[1].optimizer, "sgd") << "as the record tells where nobody asked";
  EXPECT_TRUE(made.references[0].finished);
  EXPECT_EQ(made.references[0].reason, "");
  EXPECT_EQ(made.references[0].seconds, 7);
  EXPECT_EQ(made.references[0].versions, Json::parse(R"({"libtorch": "2", "device": "cpu", "transport": "mpi"})"));
  EXPECT_THAT(made.cells, SizeIs(2));
  EXPECT_EQ(made.counts.at("cases_holding"), 2);
  EXPECT_THAT(made.not_run, IsEmpty());
}

TEST_F(SweepVerdict, GapsOfTheDataAreOneLineUnlessTheSweepFileAcceptsThem) {
  judge_ = [](const fs::path&, const judging::BenchRequest&) {
    CheckResult bench;
    bench.required = false;
    bench.reason = "no length shrinks";
    return std::vector{bench};
  };
  EXPECT_EQ(data_gaps(verdict()), "no length shrinks (r, s)");
  sweep_.accept_gaps = true;
  EXPECT_EQ(data_gaps(verdict()), "");
  EXPECT_TRUE(verdict().holds);
}

TEST_F(SweepVerdict, NamesTheCommitAndTheFolderOfItsCommands) {
  sweep_.commit = "0123456789ab-dirty";
  sweep_.folder = "/home/my folder";
  EXPECT_EQ(verdict().harness.at("your_commit"), "0123456789ab-dirty");
  EXPECT_EQ(from_its_folder(verdict(), "plumbline sweep s.toml"), "cd '/home/my folder' && plumbline sweep s.toml");
}

TEST_F(SweepVerdict, DoesNotHoldIfAReferenceFailed) {
  for (const std::string id : {"r", "s"}) {
    outcome_of_[id] = Outcome::differs;
    EXPECT_FALSE(verdict().holds) << id;
    outcome_of_[id] = Outcome::holds;
  }
}

TEST_F(SweepVerdict, DoesNotHoldIfACaseFailedOrWasNotRunOrNoneExist) {
  found_.cells[1].holds = false;
  EXPECT_FALSE(verdict().holds);

  found_.cells.pop_back();
  found_.otherwise = "it was stopped";
  EXPECT_FALSE(verdict().holds);
  EXPECT_THAT(verdict().not_run, ElementsAre("d: it was stopped"));
  found_.not_run["d"] = "no room";
  EXPECT_THAT(verdict().not_run, ElementsAre("d: no room"));

  found_.cells.clear();
  sweep_.cells.clear();
  EXPECT_FALSE(verdict().holds);
}

TEST_F(SweepVerdict, AFailedReferenceIsNotJudged) {
  found_.references[0]->exit_code = 3;
  found_.references[0]->words = "it ended with code 3";
  found_.references[1]->timed_out = true;
  Verdict made = verdict();
  EXPECT_FALSE(made.references[0].finished);
  EXPECT_EQ(made.references[0].reason, "it ended with code 3");
  EXPECT_FALSE(made.references[1].finished);
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_TRUE(made.machine.empty());

  found_.references[1].reset();
  EXPECT_EQ(verdict().references[1].reason, "it was not run");
  found_.references.clear();
  EXPECT_EQ(verdict().references[0].reason, "it was not run");
}

// What data must show is required where the sweep says that they were chosen for it, and their check is asked for.
TEST_F(SweepVerdict, RequiresTheDataCoverageThatTheSweepRequests) {
  verdict();
  EXPECT_TRUE(asked_.at("r").required);
  EXPECT_TRUE(asked_.at("r").equal_lengths);
  EXPECT_FALSE(asked_.at("r").loosest_loss);
  EXPECT_FALSE(asked_.at("s").required);
  EXPECT_FALSE(asked_.at("s").equal_lengths);

  sweep_.selection.checks = {"loss"};
  verdict();
  EXPECT_FALSE(asked_.at("r").required);
  sweep_.selection.checks = {"loss", "boundaries"};
  verdict();
  EXPECT_TRUE(asked_.at("r").required);
}

TEST_F(SweepVerdict, InCalibratedModeDataCoverageUsesTheLimits) {
  const std::map<judging::Item, judging::ItemError> own{{{0, judging::loss_item(0)}, {1e-3, false}}};
  auto calibration = judging::make_calibration(own, {20, own}, "float32");
  calibration.reference_run_id = calibration.shadow_run_id = "id";
  calibration.shadow = out_ / "calibrations/r/shadow";
  for (const std::string id : {"r", "s"}) {
    make_folder(out_ / "calibrations" / id);
    judging::write_calibration(out_ / "calibrations" / id / "calibration.json", calibration);
  }
  sweep_.comparison_mode = ComparisonMode::calibrated;

  const Verdict made = verdict();

  EXPECT_EQ(made.comparison_mode, ComparisonMode::calibrated);
  EXPECT_EQ(asked_.at("r").loosest_loss, judging::loosest_loss(calibration));
}

TEST_F(SweepVerdict, HasTheRequestOfEachRun) {
  folder_.file("out/launches/reference-r/request.json", R"({"seed": 1})");
  folder_.file("out/launches/c/request.json", R"({"seed": 2})");

  const Verdict made = verdict();

  EXPECT_EQ(made.references[0].request, Json({{"seed", 1}}));
  EXPECT_EQ(made.references[1].request, Json(nullptr));
  EXPECT_EQ(made.cells[0].request, Json({{"seed", 2}}));
  EXPECT_EQ(made.cells[1].request, Json(nullptr));
}

TEST_F(SweepVerdict, SkipsADamagedManifest) {
  folder_.file("out/references/r/manifest.json", R"({"optimizer": {"name": 3}, "versions": 7})");
  sweep_.cells[0].optimizer = "";

  const Verdict made = verdict();

  EXPECT_EQ(made.references[0].optimizer, "");
  EXPECT_EQ(made.references[0].versions, Json::object());
}

}  // namespace
}  // namespace plumbline::testing
