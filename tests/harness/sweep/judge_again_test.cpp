// SPDX-License-Identifier: BSD-3-Clause
// The whole way from records on disk to a verdict on them, with the real judge and the real report.
#include "harness/sweep/judge_again.hpp"

#include "harness/sweep/kept_verdict.hpp"
#include "reports/report.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class JudgeAgain : public FinishedSweepFolder {
 protected:
  Verdict judge() {
    return judge_again(folder_ / "out", {judge_cell, write_reports, judge_reference}, {{"version", "1"}}, stderr);
  }
  std::string page() const { return bytes_of(folder_ / "out" / "report.html"); }
};

TEST_F(JudgeAgain, GivesTheVerdictWithAllRequests) {
  const Verdict verdict = judge();

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.cells.at(0).id, "c");
  EXPECT_EQ(verdict.cells[0].reference, "r");
  EXPECT_EQ(verdict.references.at(0).checks.at(0).outcome, Outcome::holds);
  EXPECT_TRUE(verdict.references[0].checks[0].required);
  EXPECT_GT(verdict.compared.at("tensors"), 0);
  EXPECT_THAT(page(),
              AllOf(HasSubstr("<title>Holds in part: 1 of 3 cases - kept"), HasSubstr("computed the same bits")));
}

TEST_F(JudgeAgain, ComparesTheRecordsWithTheirRequests) {
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
  EXPECT_EQ(result_of(judge().cells.at(0), "as_asked").outcome, Outcome::differs);

  ask("c", seed);
  ask("reference-r", seed.get<std::int64_t>() + 1);
  EXPECT_EQ(result_of(judge().cells.at(0), "as_asked").outcome, Outcome::differs);
}

TEST_F(JudgeAgain, FindsAChangedDigestThatReportDoesNotSee) {
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

TEST_F(JudgeAgain, InterruptedCasesWereNotRun) {
  const fs::path finding = folder_ / "out/launches/c/finding.json";
  LaunchFinding interrupted = read_launch_finding(finding);
  interrupted.interrupted = true;
  write_json(finding, to_json(interrupted));
  EXPECT_THAT(judge().not_run, ElementsAre("c: the sweep ended before"));
  fs::remove(finding);

  const Verdict verdict = judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(verdict.not_run, ElementsAre("c: the sweep ended before"));
}

// What a judge is asked again by, with a judge that only notes it.
class AskedAgain : public JudgeAgain {
 protected:
  AskedAgain() {
    services_.judge = [this](const CellPlan& plan, const fs::path&, const fs::path&,
                             const std::optional<fs::path>& repeated) {
      asked_ = plan;
      repeated_ = repeated;
      CellVerdict verdict;
      verdict.id = plan.id;
      verdict.holds = holds_;
      return verdict;
    };
    services_.write_reports = [](const fs::path&) {};
  }
  void change_plan(const std::function<void(Json&)>& change) {
    Json json = read_json(out_ / "sweep.json");
    change(json.at("plan"));
    write_json(out_ / "sweep.json", json);
  }
  void write_finding(const std::string& launch, const LaunchFinding& finding) {
    make_folder(out_ / "launches" / launch);
    write_json(out_ / "launches" / launch / "finding.json", to_json(finding));
  }
  Verdict judge() { return judge_again(out_, services_, nullptr, stderr); }

  SweepServices services_;
  CellPlan asked_;
  std::optional<fs::path> repeated_;
  bool holds_ = true;
};

TEST_F(AskedAgain, UsesTheFindingsOfItsRuns) {
  LaunchFinding ended;
  ended.exit_code = 3;
  ended.seconds = 12;
  write_finding("c", ended);
  LaunchFinding reference;
  reference.exit_code = 4;
  write_finding("reference-r", reference);

  const Verdict verdict = judge();

  EXPECT_EQ(asked_.launch->exit_code, 3);
  EXPECT_EQ(asked_.reference_launch->exit_code, 4);
  EXPECT_EQ(verdict.cells.at(0).seconds, 12);
  EXPECT_FALSE(asked_.calibration);
}

TEST_F(AskedAgain, InCalibratedModeUsesTheReferencesLimits) {
  change_plan([](Json& plan) { plan["tier"] = "calibrated"; });

  const Verdict verdict = judge();

  EXPECT_EQ(asked_.calibration, out_ / "calibrations/r/calibration.json");
  EXPECT_EQ(verdict.comparison_mode, ComparisonMode::calibrated);
}

// A record of a repeat that lies there is looked at where one was asked for, and where it was run.
TEST_F(AskedAgain, IncludesTheRequestedRepeat) {
  LaunchFinding repeat;
  repeat.exit_code = 5;
  write_finding("repeat-c", repeat);
  judge();
  EXPECT_FALSE(repeated_);
  EXPECT_FALSE(asked_.repeat_launch);

  change_plan([](Json& plan) { plan["cells"][0]["repeat"] = true; });
  judge();
  EXPECT_EQ(repeated_, out_ / "repeats/c");
  EXPECT_EQ(asked_.repeat_launch->exit_code, 5);

  fs::remove_all(out_ / "launches/repeat-c");
  judge();
  EXPECT_FALSE(repeated_);
}

TEST_F(AskedAgain, KeepsTheResultOfAFailedCasesSecondRun) {
  asked_.id = "c";
  CellVerdict earlier;
  earlier.id = "c";
  earlier.second_run = SecondRun{SecondRun::Outcome::fails_again, "in the same place"};
  keep_verdict(SweepFolder(out_), asked_, earlier, "another judge");
  holds_ = false;

  Verdict verdict = judge();
  ASSERT_TRUE(verdict.cells.at(0).second_run);
  EXPECT_EQ(verdict.cells[0].second_run->words, "in the same place");

  holds_ = true;
  verdict = judge();
  EXPECT_FALSE(verdict.cells.at(0).second_run) << "what holds now has no second run";
}

TEST_F(AskedAgain, AFailingCellThatWasNeverJudgedHasNoSecondRun) {
  holds_ = false;

  EXPECT_FALSE(judge().cells.at(0).second_run);
}

TEST_F(AskedAgain, ACellThatWasNotRunKeepsTheReason) {
  Verdict earlier;
  earlier.not_run = {"x: another", "c: no room: 3 GiB are free", "no colon"};
  write_verdict(out_ / "verdict.json", earlier);
  fs::remove_all(out_ / "launches/c");

  EXPECT_THAT(judge().not_run, ElementsAre("c: no room: 3 GiB are free"));
}

}  // namespace
}  // namespace plumbline::testing
