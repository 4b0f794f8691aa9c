// SPDX-License-Identifier: BSD-3-Clause
// Reports of a sweep about failed runs and a failing judge, and what it leaves when it stops.
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class SweepFailures : public RunSweep {
 protected:
  void one_cell(const std::string& checks) {
    sweep_file("checks = " + checks + "\nrun = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
  }
  std::string log() const { return bytes_of(folder_ / "log"); }

  const fs::path out_ = folder_ / "out";
};

TEST_F(SweepFailures, TheLogSaysHowAReferenceEnded) {
  behave("[ $(basename $record) = b ] && { echo 'plumbline-reference: no memory' >&2; exit 1; }\n");

  run();

  EXPECT_THAT(log(), AllOf(::testing::ContainsRegex("reference-a  [0-9.]+ s  done"),
                           ::testing::ContainsRegex("reference-b  [0-9.]+ s  FAILED\n  .*no memory")));
}

TEST_F(SweepFailures, CasesOfAReferenceThatIsNotFiniteAreNotRun) {
  behave(
      "[ $(basename $record) = b ] && { mkdir -p $record/rank-0; "
      "printf 'step,loss,gradient_norm,learning_rate\\n0,8.5,2,1e9\\n1,8.5,inf,1e8\\n2,nan,nan,1e7\\n' "
      "> $record/rank-0/steps.csv; }\n");

  const auto verdict = run().verdict;

  const std::string why = "the reference is not finite from step 1 on (gradient norm inf; learning rate 1e9)";
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(verdict.not_run, ElementsAre("b-1f1b-w1: " + why, "b-1f1b-w2: " + why));
  EXPECT_THAT(calls(), Not(Contains(HasSubstr("b-1f1b"))));
  EXPECT_THAT(log(), HasSubstr("FAILED\n  " + why));
  EXPECT_FALSE(verdict.references[1].finished);
  EXPECT_EQ(verdict.references[1].reason, why);
  options_.resume = true;
  EXPECT_THAT(run().verdict.not_run, SizeIs(2));
}

TEST_F(SweepFailures, TheLogNamesACasesFirstDivergenceOrFailedCheck) {
  sweep_file("checks = [\"loss\"]\nrun = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
  services_.judge = [](const CellPlan& plan, const fs::path&, const fs::path&, const std::optional<fs::path>&) {
    CellVerdict verdict;
    verdict.id = plan.id;
    for (const auto& [name, outcome] : {std::pair{"data", Outcome::holds}, {"loss", Outcome::differs}}) {
      CheckResult check;
      check.name = name;
      check.outcome = outcome;
      check.reason = std::string("of ") + name;
      verdict.checks.push_back(check);
    }
    if (plan.world == 2) {
      verdict.first_divergence.emplace();
      verdict.first_divergence->words = "the bits differ";
    }
    return verdict;
  };

  run();

  EXPECT_THAT(log(), AllOf(HasSubstr("s  DOES NOT HOLD\n  loss: of loss\n"),
                           HasSubstr("s  DOES NOT HOLD\n  the bits differ\n")));
}

// The second case runs until the first has its verdict.
TEST_F(SweepFailures, FailFastStartsNoCaseAfterOneThatDoesNotHold) {
  behave(
      "[ $(basename $record) = a-1f1b-w1 ] && exit 1\n"
      "[ $(basename $record) = a-1f1b-w2 ] && until grep -q 'a-1f1b-w1 .*NOT HOLD' $base/log; do sleep 0.02; done\n");
  options_.fail_fast = true;

  const auto verdict = run().verdict;

  const std::string why = ": the sweep ended before: --fail-fast: a-1f1b-w1 does not hold";
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(finished(verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2"));
  EXPECT_THAT(verdict.not_run, ElementsAre("b-1f1b-w1" + why, "b-1f1b-w2" + why));
  behave("");
  options_.resume = options_.again = true;
  EXPECT_TRUE(run().verdict.holds);
}

TEST_F(SweepFailures, ARefusalAlwaysNamesTheRunFile) {
  behave("echo 'plumbline-reference: no such model' >&2; exit 2\n");
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("a.toml: "));

  behave("echo \"plumbline-reference: cannot read $run:12\" >&2; exit 2\n");
  EXPECT_THAT(error_of<InputError>([&] { run(); }), EndsWith("cannot read " + (folder_ / "a.toml").string() + ":"));
}

// What had finished before would be lost with the folder.
TEST_F(SweepFailures, ARunFileRefusedOnResumeRemovesNothing) {
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1]\nschedules = [\"1f1b\"]\n");
  run();
  sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1]\nschedules = [\"1f1b\"]\n");
  behave("[ $(basename $record) = b ] && { echo 'plumbline-reference: no such model' >&2; exit 2; }\n");
  options_.resume = true;

  EXPECT_THAT(error_of<InputError>([&] { run(); }),
              AllOf(HasSubstr("no such model. 1 of 2 cases are finished and kept"), HasSubstr("--resume")));

  EXPECT_TRUE(read_verdict(out_ / "cells/a-1f1b-w1/cell.json").holds);
  const auto stopped = read_verdict(out_ / "verdict.json");
  EXPECT_THAT(finished(stopped), ElementsAre("a-1f1b-w1"));
  EXPECT_THAT(stopped.not_run, ElementsAre(HasSubstr("b-1f1b-w1: ")));
  behave("");
  fs::remove(folder_ / "calls");
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference b", "plumbline-pipeline b-1f1b-w1"));
}

TEST_F(SweepFailures, AFailedReferenceRunsAgainOnResume) {
  behave("[ $(basename $record) = b ] && { page $record 0 0 -1 0F0; exit 1; }\n");
  EXPECT_FALSE(run().verdict.holds);
  behave("");
  fs::remove(folder_ / "calls");
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_THAT(calls(),
              ElementsAre("plumbline-reference b", "plumbline-pipeline b-1f1b-w1", "plumbline-pipeline b-1f1b-w2"));
}

TEST_F(SweepFailures, AJudgeThatRefusesARecordStopsTheSweepAndKeepsWhatWasJudged) {
  const auto judge = services_.judge;
  services_.judge = [&](const CellPlan& plan, const auto&... runs) {
    if (plan.id == "b-1f1b-w2") throw InputError("tensors.csv: no number");
    return judge(plan, runs...);
  };

  EXPECT_THAT(error_of<InputError>([&] { run(); }),
              AllOf(HasSubstr("tensors.csv: no number. 3 of 4 cases are finished and kept"), HasSubstr("--resume")));

  const auto stopped = read_verdict(out_ / "verdict.json");
  EXPECT_THAT(finished(stopped), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1"));
  EXPECT_THAT(stopped.not_run, ElementsAre(AllOf(HasSubstr("b-1f1b-w2"), HasSubstr("tensors.csv: no number"))));
  EXPECT_TRUE(read_verdict(out_ / "cells/b-1f1b-w1/cell.json").holds);
}

TEST_F(SweepFailures, OnlyFilesOnDiskCountAsKept) {
  const auto judge = services_.judge;
  std::string removed;
  services_.judge = [&](const CellPlan& plan, const auto&... runs) {
    const auto verdict = judge(plan, runs...);
    if (plan.id != "b-1f1b-w2") return verdict;
    fs::remove_all(removed.empty() ? out_ : out_ / removed);
    throw InputError("tensors.csv: does not exist");
  };

  EXPECT_THAT(
      error_of<SystemError>([&] { run(); }),
      AllOf(HasSubstr(out_.string() + ": the sweep's folder was removed while it ran"), Not(HasSubstr("kept"))));

  fs::remove_all(out_);
  removed = "cells/a-1f1b-w1";
  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("2 of 4 cases are finished and kept"));
}

TEST_F(SweepFailures, AReportThatCannotBeWrittenKeepsAllCases) {
  services_.write_reports = [](const fs::path&) { throw SystemError("report.html: cannot be written"); };

  EXPECT_THAT(error_of<SystemError>([&] { run(); }),
              AllOf(HasSubstr("report.html: cannot be written. 4 of 4 cases are finished and kept; continue with:"),
                    HasSubstr("--resume")));
}

TEST_F(SweepFailures, AnExceptionDuringARunIsThrownAfterItEnded) {
  sweep_file("checks = [\"loss\"]\nrun = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
  behave(
      "[ $(basename $record)-$me = a-1f1b-w2-0 ] && { until [ -e $base/judged ]; do sleep 0.01; done; sleep 0.2; "
      "touch $base/ended; }\n");
  const auto judge = services_.judge;
  services_.judge = [&](const CellPlan& plan, const auto&... runs) {
    if (plan.world == 2) return judge(plan, runs...);
    folder_.file("judged", "");
    throw InputError("tensors.csv: no number");
  };

  EXPECT_THAT(error_of<InputError>([&] { run(); }), HasSubstr("tensors.csv: no number"));

  EXPECT_TRUE(fs::exists(folder_ / "ended"));
}

TEST_F(SweepFailures, AStopBetweenRunsStartsNoOther) {
  one_cell("[\"loss\"]");
  const auto judge = services_.judge;
  services_.judge = [&](const CellPlan& plan, const auto&... runs) {
    CellVerdict verdict = judge(plan, runs...);
    verdict.holds = false;
    kill(getpid(), SIGTERM);
    return verdict;
  };

  EXPECT_THAT(error_of<SystemError>([&] { run(); }),
              HasSubstr("stopped by SIGTERM before again-a-1f1b-w2. 1 of 1 cases"));

  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a", "plumbline-pipeline a-1f1b-w2"));
}

// The machine's fault, which ends the sweep without a verdict on a case that was not run as asked.
TEST_F(SweepFailures, ALauncherThatStartsTooFewProcessesStopsTheSweep) {
  one_cell("[\"loss\"]");
  // $1 = -n, $2 the number of ranks, then the trainer, which tells the world it finds itself in
  program(folder_, "fake-mpirun", "shift 2; WORLD=1 exec \"$@\"\n");
  behave(
      "[ -n \"$WORLD\" ] && { mkdir -p $record; echo '{\"transport\": \"mpi\", \"world_size\": 1}' > "
      "$record/manifest.new; mv $record/manifest.new $record/manifest.json; page $record $me 0 -1 ${me}F0; sleep 0.2; "
      "ended $record $me ok 0; exit 0; }\n");

  EXPECT_THAT(error_of<SystemError>([&] { run(); }),
              AllOf(HasSubstr("started one process of plumbline-pipeline, but 2 were requested"),
                    HasSubstr("0 of 1 cases"), HasSubstr("continue with:\n  ")));

  EXPECT_FALSE(read_verdict(out_ / "verdict.json").holds);
  EXPECT_THAT(read_verdict(out_ / "verdict.json").cells, IsEmpty());
  EXPECT_FALSE(fs::exists(out_ / "launches/a-1f1b-w2/finding.json")) << "it is run again";
}

TEST_F(SweepFailures, ASweepResumesAfterTheMachineIsRepaired) {
  program(folder_, "fake-mpirun", "[ -e ${0%/*}/slots ] || exit 1\n" + fake_mpirun());
  error_of<SystemError>([&] { run(); });
  folder_.file("slots", "");
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);
}

}  // namespace
}  // namespace plumbline::testing
