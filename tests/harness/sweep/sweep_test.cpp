// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

TEST_F(RunSweep, EachReferenceRunsOnceAndEachCellIsJudgedAgainstIt) {
  const auto result = run();

  EXPECT_TRUE(result.verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a", "plumbline-reference b", "plumbline-pipeline a-1f1b-w1",
                                   "plumbline-pipeline a-1f1b-w2", "plumbline-pipeline b-1f1b-w1",
                                   "plumbline-pipeline b-1f1b-w2"));
  EXPECT_THAT(finished(result.verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1", "b-1f1b-w2"));
  EXPECT_EQ(result.verdict.counts.at("cases"), 4);
  EXPECT_EQ(result.verdict.counts.at("cases_holding"), 4);
  EXPECT_EQ(result.verdict.compared.at("tensors"), 12);
  EXPECT_EQ(result.verdict.machine.at("machine").at("cpu"), "fake");
  ASSERT_THAT(judged_, SizeIs(4));
  EXPECT_TRUE(judged_[1].launch && judged_[1].reference_launch);
  EXPECT_TRUE(read_verdict(folder_ / "out/verdict.json").holds);
  EXPECT_THAT(reports_, ElementsAre(folder_ / "out"));
}

TEST_F(RunSweep, LogHasOnePlainLineForEachRunAndEachCellSaysItsCommand) {
  const auto result = run();

  const std::string log = bytes_of(folder_ / "log");
  EXPECT_THAT(log, AllOf(HasSubstr("[1/6] reference-a"), HasSubstr("[6/6] b-1f1b-w2"), HasSubstr("holds"),
                         Not(HasSubstr("\r"))));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 6);
  EXPECT_EQ(result.verdict.cells[1].command, "plumbline sweep " + options_.sweep_file.string() +
                                                 " --cells a-1f1b-w2 --out " + (folder_ / "out").string() +
                                                 "-a-1f1b-w2");
}

TEST_F(RunSweep, OnlySelectedCasesRun) {
  options_.cells = {"b-1f1b-w2"};

  const auto result = run();

  EXPECT_THAT(calls(), ElementsAre("plumbline-reference b", "plumbline-pipeline b-1f1b-w2"));
  EXPECT_TRUE(result.verdict.holds);
  EXPECT_TRUE(result.verdict.selection.partial());
  EXPECT_EQ(result.verdict.selection.cells, 1);
  EXPECT_EQ(result.verdict.selection.of_cells, 4);
}

TEST_F(RunSweep, ReferencesAreJudgedOnceAndDataCoverageIsRequiredOnlyWithBench) {
  std::vector<std::string> asked;
  services_.judge_reference = [&](const fs::path& record, const judging::BenchRequest& request) {
    asked.push_back(record.filename().string() + " " + (request.required ? "required" : "not required"));
    CheckResult bench;
    bench.name = "bench";
    bench.outcome = Outcome::incomplete;
    bench.required = request.required;
    return std::vector<CheckResult>{bench};
  };

  EXPECT_TRUE(run().verdict.holds) << "a user's own data: told";
  EXPECT_THAT(asked, ElementsAre("a not required", "b not required"));

  sweep_file("bench = true\nrun = [\"a.toml\"]\nworld_sizes = [1]\nschedules = [\"1f1b\"]\n");
  options_.out = folder_ / "bench";
  const auto result = run();
  EXPECT_FALSE(result.verdict.holds);
  EXPECT_TRUE(result.verdict.cells[0].holds);
  EXPECT_THAT(asked.back(), "a required");
}

TEST_F(RunSweep, ACaseThatHoldsTheSecondTimeIsUnstableAndFails) {
  behave(
      "[ $(basename $record) = a-1f1b-w2 ] && [ ! -e $base/failed ] && [ $me = 0 ] && { touch $base/failed; exit 1; "
      "}\n");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  const CellVerdict& cell = result.verdict.cells[1];
  EXPECT_TRUE(cell.unstable());
  EXPECT_EQ(result.verdict.counts.at("cases_unstable"), 1);
  EXPECT_THAT(cell.second_run->words, HasSubstr("completion did not fail in the second run"));
  EXPECT_THAT(bytes_of(folder_ / "log"), HasSubstr("a-1f1b-w2 second run: UNSTABLE"));
  EXPECT_TRUE(read_verdict(folder_ / "out/verdict.json").cells[1].unstable());
}

TEST_F(RunSweep, ATrainerThatExitsWithThreeFailsOnlyItsCase) {
  behave("[ $(basename $record) = a-1f1b-w2 ] && { echo 'plumbline-pipeline: no such device' >&2; exit 3; }\n");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  EXPECT_THAT(finished(result.verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1", "b-1f1b-w2"));
  EXPECT_EQ(result.verdict.counts.at("cases_holding"), 3);
  EXPECT_EQ(judged_[1].launch->exit_code, 3);
}

TEST_F(RunSweep, ItsRecordsCanBeJudgedAgainWithoutTheFilesItWasMadeFrom) {
  sweep_file(
      "run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\nrepeat = [\"a-1f1b-w2\"]\n");
  const auto first = run();
  for (const char* file :
       {"a.toml", "b.toml", "config.json", "small.toml", "plumbline-pipeline", "plumbline-reference"})
    fs::remove(folder_ / file);
  const std::size_t calls_before = calls().size();
  const std::vector<CellPlan> before = judged_;
  judged_.clear();
  services_.judge = [&](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                        const std::optional<fs::path>& repeated) {
    judged_.push_back(plan);
    EXPECT_EQ(reference, folder_ / "out/references" / plan.reference);
    EXPECT_EQ(candidate, folder_ / "out/cells" / plan.id);
    EXPECT_EQ(repeated.has_value(), plan.id == "a-1f1b-w2");
    CellVerdict verdict;
    verdict.id = plan.id;
    verdict.holds = plan.id != "b-1f1b-w1";  // today's judge sees what the first did not
    return verdict;
  };

  const auto verdict = judge_again(folder_ / "out", services_, {{"version", "2"}}, stderr);

  EXPECT_EQ(calls().size(), calls_before) << "nothing is run";
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.started, first.verdict.started);
  EXPECT_EQ(verdict.harness.at("version"), "2");
  EXPECT_FALSE(read_verdict(folder_ / "out/verdict.json").holds);
  EXPECT_FALSE(read_verdict(folder_ / "out/cells/b-1f1b-w1/cell.json").holds);
  ASSERT_EQ(judged_.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(judged_[i].id, before[i].id);
    EXPECT_EQ(judged_[i].command, before[i].command);
    EXPECT_EQ(judged_[i].repeat, before[i].repeat);
    EXPECT_EQ(to_json(*judged_[i].launch), to_json(*before[i].launch));
    EXPECT_EQ(to_json(*judged_[i].reference_launch), to_json(*before[i].reference_launch));
  }
  EXPECT_THAT(reports_, SizeIs(2));
}

TEST_F(RunSweep, AReferenceGetsTheOrderOfASchedulesFile) {
  folder_.file("down.csv", "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n");
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\", \"down.csv\"]\n");

  const auto result = run();

  ASSERT_THAT(calls(), SizeIs(4)) << "two references: ascending, and the file's order";
  EXPECT_THAT(calls()[1], HasSubstr("plumbline-reference a-order-"));
  const fs::path launch = folder_ / "out" / "launches" / ("reference-" + calls()[1].substr(20));
  EXPECT_THAT(bytes_of(launch / "command.txt"), HasSubstr("--accumulation " + (launch / "accumulation.csv").string()));
  EXPECT_THAT(bytes_of(launch / "accumulation.csv"), HasSubstr("layers.1,1\nlayers.1,0\n"));
  EXPECT_THAT(bytes_of(folder_ / "out/launches/reference-a/command.txt"), Not(HasSubstr("--accumulation")));
  EXPECT_THAT(bytes_of(folder_ / "out/launches/a-down.csv-w2/run.toml"), HasSubstr("../../../down.csv"));
  EXPECT_TRUE(result.verdict.holds);
}

TEST_F(RunSweep, AReferenceMeasuresASplitBackwardOnlyWhereACellHasOne) {
  for (const auto& [schedules, without] : {std::pair{"\"1f1b\", \"afab\"", true}, {"\"1f1b\", \"zb-h1\"", false}}) {
    sweep_file(std::string("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [") + schedules + "]\n");
    fs::remove_all(folder_ / "out");

    run();

    const std::string command = bytes_of(folder_ / "out/launches/reference-a/command.txt");
    EXPECT_EQ(command.find("--without-split-backward") != std::string::npos, without) << command;
  }
}

TEST_F(RunSweep, ARepeatedCaseRunsTwiceAndBothRunsAreJudged) {
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\nrepeat = [\"a-1f1b-w2\"]\n");
  behave(
      "case $record in */repeats/*) ended $record $me ok 0; until [ -e $record/rank-1/exit.json ]; do sleep 0.01; "
      "done; "
      "exit 7;; esac\n");

  run();

  EXPECT_THAT(repeats_, ElementsAre("a-1f1b-w2"));
  EXPECT_TRUE(fs::exists(folder_ / "out/repeats/a-1f1b-w2/rank-1/exit.json"));
  ASSERT_TRUE(judged_[1].repeat_launch);
  EXPECT_EQ(judged_[1].repeat_launch->exit_code, 7);
}

TEST_F(RunSweep, AKilledRankFailsItsCaseAndTheOthersContinue) {
  behave(
      "[ $(basename $record) = a-1f1b-w2 ] && { page $record $me 1 -1 ${me}B3; sleep 0.2; [ $me = 1 ] && kill -KILL "
      "$$; sleep 20; }\n");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  EXPECT_EQ(result.verdict.counts.at("cases_holding"), 3);
  EXPECT_THAT(judged_[1].launch->words, HasSubstr("rank 1 was killed by signal 9 (SIGKILL) in 1B3 of step 1"));
  EXPECT_THAT(result.verdict.not_run, IsEmpty());
  EXPECT_THAT(bytes_of(folder_ / "log"), HasSubstr("DOES NOT HOLD\n  completion: rank 1 was killed"));
}

TEST_F(RunSweep, CasesOfACrashedReferenceAreReportedAsNotRun) {
  behave("[ $(basename $record) = b ] && { page $record 0 0 -1 0F1; kill -SEGV $$; }\n");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  EXPECT_THAT(finished(result.verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2"));
  ASSERT_THAT(result.verdict.not_run, SizeIs(2));
  EXPECT_THAT(result.verdict.not_run[0], AllOf(HasSubstr("b-1f1b-w1"), HasSubstr("SIGSEGV")));
}

TEST_F(RunSweep, RunFileThatTheTrainerRefusesIsAnInputErrorBeforeAnyCellRuns) {
  behave("[ $(basename $record) = b ] && { echo \"plumbline-reference: $run:2:1: no such model\" >&2; exit 2; }\n");

  const auto message = error_of<InputError>([&] { run(); });

  // the user's file, not the sweep's copy of it, which is gone
  EXPECT_THAT(message, AllOf(HasSubstr("b.toml: no such model"), Not(HasSubstr("launches"))));
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a", "plumbline-reference b"));
  EXPECT_FALSE(fs::exists(folder_ / "out")) << "the same command works again once the file is corrected";

  fs::create_directory(folder_ / "out");
  EXPECT_NE(error_of<InputError>([&] { run(); }), "");
  ASSERT_TRUE(fs::exists(folder_ / "out")) << "the user made it";
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));

  behave(
      "[ $(basename $record) = b ] && { echo \"plumbline-reference: $run:2:1, key train.steps: is 0\" >&2; exit 2; "
      "}\n");
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("b.toml, key train.steps: is 0"));
}

TEST_F(RunSweep, CellsThatDifferRunAgainAtLevelDumpThreeAtMost) {
  services_.judge = [](const CellPlan& plan, const fs::path&, const fs::path&, const std::optional<fs::path>&) {
    CellVerdict verdict = failing_cell(plan.id, {"gradients"});
    verdict.first_divergence.emplace().words = "the bits differ";
    return verdict;
  };

  const auto result = run();

  // the sweep, both references at level dump, three of the four cells so and the fourth as before
  EXPECT_THAT(calls(), SizeIs(6 + 2 + 4));
  std::int64_t told = 0;
  for (const auto& cell : result.verdict.cells) {
    ASSERT_TRUE(cell.second_run);
    EXPECT_EQ(cell.second_run->outcome, SecondRun::Outcome::fails_again);
    if (cell.second_run->words.find("at level dump") == std::string::npos) continue;
    ++told;
    EXPECT_THAT(read_file(folder_ / "out" / "launches" / ("dump-" + cell.id) / "run.toml"), HasSubstr("dump"));
  }
  EXPECT_EQ(told, 3);
}

TEST_F(RunSweep, AMissingLauncherStopsTheSweepAndKeepsFinishedCases) {
  services_.judge = [this, judge = services_.judge](const auto&... asked) {
    fs::remove(folder_ / "fake-mpirun");
    return judge(asked...);
  };

  const auto message = error_of<SystemError>([&] { run(); });

  EXPECT_THAT(message, AllOf(HasSubstr("fake-mpirun"), HasSubstr("1 of 4 cases"),
                             HasSubstr("continue with:\n  plumbline sweep " + options_.sweep_file.string() + " --out " +
                                       (folder_ / "out").string() + " --resume")));
  const auto verdict = read_verdict(folder_ / "out/verdict.json");
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(finished(verdict), ElementsAre("a-1f1b-w1"));
  EXPECT_THAT(verdict.not_run, SizeIs(3));
}

TEST_F(RunSweep, CtrlCKeepsFinishedCellsLeavesNoProcessAndResumeRunsOnlyTheRest) {
  behave(
      "[ $(basename $record) = a-1f1b-w2 ] && { echo $$ > $base/pid-$me; [ $me = 1 ] && { until [ -s $base/pid-0 "
      "]; do sleep 0.02; done; kill -INT " +
      std::to_string(getpid()) + "; }; sleep 600; }\n");

  const auto message = error_of<SystemError>([&] { run(); });

  EXPECT_THAT(message, AllOf(HasSubstr("stopped by SIGINT while a-1f1b-w2 ran"), HasSubstr("1 of 4 cases")));
  for (const std::string file : {"pid-0", "pid-1"})
    EXPECT_FALSE(process_state(std::atoi(bytes_of(folder_ / file).c_str())));
  const auto stopped = read_verdict(folder_ / "out/verdict.json");
  EXPECT_FALSE(stopped.holds);
  EXPECT_THAT(finished(stopped), ElementsAre("a-1f1b-w1"));
  ASSERT_THAT(stopped.not_run, SizeIs(3));
  EXPECT_THAT(stopped.not_run[0], AllOf(HasSubstr("a-1f1b-w2"), HasSubstr("SIGINT")));

  behave("");
  fs::remove(folder_ / "calls");
  options_.resume = true;
  const auto result = run();

  EXPECT_TRUE(result.verdict.holds);
  EXPECT_THAT(finished(result.verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1", "b-1f1b-w2"));
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline a-1f1b-w2", "plumbline-pipeline b-1f1b-w1",
                                   "plumbline-pipeline b-1f1b-w2"));
  EXPECT_EQ(result.verdict.started, stopped.started);
}

TEST_F(RunSweep, FinishedSweepIsNotOverwritten) {
  run();

  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("--resume"));
}

TEST_F(RunSweep, DefaultFolderIsBelowReportsAndLatestPointsToIt) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  options_.out.reset();
  options_.cells = {"a-1f1b-w1"};

  const auto first = run(), second = run();

  EXPECT_EQ(first.folder.parent_path(), "reports/runs");
  EXPECT_NE(first.folder, second.folder);
  EXPECT_EQ(fs::read_symlink("reports/runs/latest"), second.folder.filename());
  fs::current_path(before);
}

}  // namespace
}  // namespace plumbline::testing
