// The whole way from records on disk to a verdict on them, with the real judge and the real report.
#include "harness/sweep/judge_again.hpp"

#include <gmock/gmock.h>

#include "harness/judge/judge.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "reports/report.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The folder of a sweep of one cell that has ended.
class JudgeAgain : public ::testing::Test {
 protected:
  JudgeAgain() {
    const fs::path out = folder_ / "out";
    make_folder(out / "references");
    make_folder(out / "cells");
    write_run(cell_.reference, out / "references" / "r");
    write_run(cell_.candidate, out / "cells" / "c");
    KeptSweep kept;
    kept.name = "kept";
    kept.selection.of_cells = 3;
    kept.references = {{"r", "run", "model", "adamw", true, false}};
    CellPlan plan = cell_.plan;
    plan.id = "c";
    plan.reference = "r";
    plan.run = "run";
    plan.bench = true;
    kept.cells = {plan};
    write_json(out / "sweep.json", {{"schema", "plumbline-sweep/1"},
                                    {"name", kept.name},
                                    {"fingerprint", "f"},
                                    {"started", "2026-11-22T00:00:00Z"},
                                    {"plan", to_json(kept)}});
    for (const std::string launch : {"reference-r", "c"}) {
      make_folder(out / "launches" / launch);
      write_json(out / "launches" / launch / "finding.json", to_json(LaunchFinding{}));
    }
  }
  Verdict judge() {
    return judge_again(folder_ / "out", {judge_cell, write_reports, judge_reference}, {{"version", "1"}}, stderr);
  }
  std::string page() const { return bytes_of(folder_ / "out" / "report.html"); }

  TemporaryFolder folder_;
  SyntheticCell cell_;
};

TEST_F(JudgeAgain, GivesTheVerdictOfTheRecordsWithEverythingThatWasAsked) {
  const Verdict verdict = judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.cells.at(0).id, "c");
  EXPECT_EQ(verdict.cells[0].reference, "r");
  EXPECT_EQ(verdict.references.at(0).checks.at(0).outcome, Outcome::holds);
  EXPECT_EQ(verdict.references[0].checks[0].requirement, Requirement::required);
  EXPECT_GT(verdict.compared.at("tensors"), 0);
  EXPECT_THAT(page(),
              AllOf(HasSubstr("<title>Holds in part: 1 of 3 cells - kept"), HasSubstr("computed the same bits")));
}

TEST_F(JudgeAgain, HoldsTheRecordsToWhatWasAskedOfTheRuns) {
  const auto ask = [&](const std::string& launch, const Json& seed) {
    write_json(folder_ / "out" / "launches" / launch / "request.json",
               {{"schema", "plumbline-request/1"}, {"seed", seed}});
  };
  const Json seed = cell_.candidate.manifest.at("seed");
  ask("c", seed);
  ask("reference-r", seed);
  const Verdict right = judge();
  EXPECT_TRUE(right.holds);
  EXPECT_EQ(result_of(right.cells.at(0), "as_asked").outcome, Outcome::holds);
  EXPECT_EQ(right.cells[0].request.at("seed"), seed);
  EXPECT_EQ(right.references.at(0).request.at("seed"), seed);

  ask("c", seed.get<std::int64_t>() + 1);
  EXPECT_EQ(result_of(judge().cells.at(0), "as_asked").outcome, Outcome::fails);

  ask("c", seed);
  ask("reference-r", seed.get<std::int64_t>() + 1);
  EXPECT_EQ(result_of(judge().cells.at(0), "as_asked").outcome, Outcome::fails);
}

TEST_F(JudgeAgain, OneDigestChangedInAKeptRecordIsRedAndReportAloneDoesNotSeeIt) {
  judge();
  const fs::path table = folder_ / "out/cells/c/rank-1/tensors.csv";
  std::string text = bytes_of(table);
  const std::string digest = tensor_row(cell_.candidate, 1, "gradient", "model.norm.weight").digest;
  text.replace(text.find(digest), digest.size(), other_digest);
  write_file(table, text);

  write_reports(folder_ / "out");
  EXPECT_THAT(page(), HasSubstr("<title>Holds in part")) << "report judges nothing";
  EXPECT_TRUE(read_verdict(folder_ / "out/verdict.json").holds);

  const Verdict verdict = judge();
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.cells[0].first_divergence->item, "model.norm.weight");
  EXPECT_FALSE(read_verdict(folder_ / "out/verdict.json").holds);
  EXPECT_THAT(page(), AllOf(HasSubstr("<title>Does not hold"), Not(HasSubstr("computed the same bits"))));
}

TEST_F(JudgeAgain, ACellWithoutAFindingWasNotRun) {
  fs::remove_all(folder_ / "out/launches/c");

  const Verdict verdict = judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(verdict.not_run, ::testing::ElementsAre("c: the sweep ended before"));
}

}  // namespace
}  // namespace plumbline::testing
