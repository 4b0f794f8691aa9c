// SPDX-License-Identifier: BSD-3-Clause
// Runs that get a signal to save and stop, that are killed while they save, or that cannot save, started as a user or a
// scheduler does.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SavedAndStopped : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() / "run.toml")
        << "[model]\nconfig = \"" + fixtures_path() + "/models/stories260k/config.json\"\n[data]\ntext = \""
        << fixtures_path() + "/corpus/\"\nlengths = [8, 4]\nbatch = 1\n[train]\nsteps = 300\n";
  }

  /// Runs one of these programs with the run file, in the test's folder.
  Ended run(const std::string& command) const {
    return end_of("( cd " + folder_.path().string() + " && " + command + " )", folder_.path());
  }
  void succeeds(const std::string& command) const {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0) << ended.output;
  }
  /// Runs the command until its folder has a first checkpoint, then sends it the signal.
  Ended signalled(const std::string& command, const std::string& folder, const std::string& signal) const {
    return run("{ " + command + " & } ; p=$!; for i in $(seq 3000); do [ -e " + folder +
               "/latest ] && break; sleep 0.02; done; kill -" + signal + " $p; wait $p");
  }
  Json digests(const std::string& folder) const {
    return read_json(folder_.path() / folder / "latest/checkpoint.json").at("digests");
  }
  std::int64_t steps(const std::string& folder) const {
    return read_json(folder_.path() / folder / "latest/checkpoint.json").at("steps");
  }

  static constexpr int stopped = 4;  ///< the exit code of a training that a signal stopped
  const std::string reference_ = bin() + "/plumbline-reference run.toml --quiet --checkpoint ";
  const std::string on_two_ranks_ =
      PLUMBLINE_MPI_LAUNCHER " -n 2 " + bin() + "/plumbline-pipeline run.toml --quiet --checkpoint ";
  TemporaryFolder folder_;
};

TEST_F(SavedAndStopped, BySignalAndResumedElsewhere) {
  succeeds(reference_ + "whole");

  const Ended one = signalled("exec " + reference_ + "a --checkpoint-every 20", "a", "INT");
  EXPECT_EQ(one.code, stopped) << one.output;
  EXPECT_THAT(one.output, HasSubstr("continue with --resume latest"));
  ASSERT_LT(steps("a"), 300) << "it ended before the signal came";
  const std::int64_t first = steps("a");

  const Ended two = run(on_two_ranks_ + "a --resume latest");
  EXPECT_EQ(two.code, 0) << two.output;
  EXPECT_GT(steps("a"), first);
  EXPECT_EQ(steps("a"), 300);
  EXPECT_EQ(digests("a"), digests("whole"));
}

/// mpirun forwards SIGUSR1. Ranks as threads are one process, which gets the signal directly.
TEST_F(SavedAndStopped, OnTwoRanksAndResumedOnOneDevice) {
  succeeds(reference_ + "whole");
  const std::string threads =
      bin() + "/plumbline-pipeline run.toml --quiet --transport threads --ranks 2 --checkpoint ";
  for (const auto& [command, folder, signal] :
       {std::tuple(on_two_ranks_, std::string("a"), "USR1"), std::tuple(threads, std::string("b"), "TERM")}) {
    const Ended ended = signalled("exec " + command + folder + " --checkpoint-every 20", folder, signal);
    EXPECT_EQ(ended.code, stopped) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("continue with --resume latest"));
    ASSERT_LT(steps(folder), 300) << "it ended before the signal came";

    succeeds(reference_ + folder + " --resume latest");
    EXPECT_EQ(digests(folder), digests("whole"));
  }
}

/// Uses the printed command; the rank forwards the request to the others, whatever the launcher.
TEST_F(SavedAndStopped, ByThePrintedCommand) {
  const std::string programs[] = {
      bin() + "/plumbline-reference run.toml --checkpoint ",
      PLUMBLINE_MPI_LAUNCHER " -n 2 " + bin() + "/plumbline-pipeline run.toml --checkpoint "};
  for (const std::string& program : programs) {
    const std::string folder = program == programs[0] ? "a" : "b";
    const Ended ended = run("{ " + program + folder +
                            " --checkpoint-every 20 2> start & }; p=$!; for i in $(seq 3000); do [ -e " + folder +
                            "/latest ] && break; sleep 0.02; done; $(sed -n 's/^to save and stop: \\(kill -TERM "
                            "[0-9]*\\) on .*/\\1/p' start); wait $p");
    EXPECT_EQ(ended.code, stopped) << ended.output;
    EXPECT_LT(steps(folder), 300) << "it ended before the signal came";
    EXPECT_THAT(read_file(folder_.path() / "start"),
                AllOf(HasSubstr("stopped by a signal after"), Not(HasSubstr("done: "))));
  }
}

TEST_F(SavedAndStopped, NonFiniteGradientsKeepTheLastCheckpoint) {
  std::ofstream(folder_.path() / "run.toml", std::ios::app) << "optimizer = \"sgd\"\nlearning_rate = 1e18\n";
  const Ended ended = run(reference_ + "a --checkpoint-every 1");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("the gradients are not finite (norm "), HasSubstr("first in model."),
                                  ContainsRegex("the last checkpoint remains, a/step-0000000[1-9]\\. ")));
  EXPECT_GE(steps("a"), 1);
  const Ended unsaved =
      run(bin() + "/plumbline-pipeline run.toml --quiet --transport threads --ranks 2 --checkpoint b");
  EXPECT_EQ(unsaved.code, 1);
  EXPECT_THAT(unsaved.output, AllOf(HasSubstr("first in model."), HasSubstr("; there is no checkpoint. ")));
}

TEST_F(SavedAndStopped, FailingRanksExplainAndEndTheJobWithTheirCode) {
  std::ofstream(folder_.path() / "run.toml", std::ios::app) << "optimizer = \"sgd\"\nlearning_rate = 1e18\n";

  const Ended ended = run(on_two_ranks_ + "a --checkpoint-every 1");

  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("rank [01] ended the run: [^\n]*the gradients are not finite"));
  EXPECT_GE(steps("a"), 1);
}

TEST_F(SavedAndStopped, ARecordOfAResumedRunNamesItsOriginAndTransport) {
  std::string text = read_file(folder_.path() / "run.toml");
  text.replace(text.find("steps = 300"), 11, "steps = 3\nthreads = 2");
  folder_.file("run.toml", text);
  succeeds(reference_ + "a --stop-after 1");

  ASSERT_EQ(run(on_two_ranks_ + "a --resume latest --record r").code, 0);

  const Json manifest = read_json(folder_.path() / "r/manifest.json");
  EXPECT_EQ(manifest.at("first_step"), 1);
  EXPECT_EQ(manifest.at("resumed_from").at("step"), 1);
  EXPECT_THAT(manifest.at("versions").at("mpi").get<std::string>(), Not(IsEmpty()));
  EXPECT_EQ(manifest.at("environment").at("compute_threads"), 2);
  const CsvTable memory = read_csv(folder_.path() / "r/rank-1/memory.csv", {"parameter_bytes"});
  ASSERT_EQ(memory.rows.size(), 2U);
  EXPECT_GT(std::stoll(memory.rows[0].cells[memory.column("parameter_bytes")]), 0);
}

TEST_F(SavedAndStopped, MetricsHaveEachStepOnceEvenIfRepeated) {
  succeeds(reference_ + "a --checkpoint-every 100");
  succeeds(reference_ + "a --resume a/step-00000200 --discard-later");
  const CsvTable metrics = read_csv(folder_.path() / "a/metrics.csv", {"step"});
  ASSERT_EQ(metrics.rows.size(), 300U);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(metrics.rows[i].cells[0], std::to_string(i));
}

TEST_F(SavedAndStopped, ARecordOfAStoppedRunSaysSo) {
  ASSERT_EQ(signalled("exec " + reference_ + "a --checkpoint-every 20 --record r", "a", "USR1").code, stopped);
  const Json exit = read_json(folder_.path() / "r/rank-0/exit.json");
  EXPECT_EQ(exit.at("status"), "stopped");
  EXPECT_EQ(exit.at("code"), stopped);
  EXPECT_EQ(exit.at("signal"), nullptr);
}

TEST_F(SavedAndStopped, AFailedSaveIsReportedAndTrainingContinues) {
  succeeds(reference_ + "a --stop-after 100");
  const std::string kept = "a/step-00000100";
  ASSERT_TRUE(fs::exists(folder_.path() / kept));

  // A file may have 64 KiB, enough for checkpoint.json but not for the weights.
  const Ended ended = run("trap '' XFSZ; ulimit -f 64; " + reference_ + "a --checkpoint-every 100 --resume latest");

  EXPECT_EQ(ended.code, 3) << "its training is not saved anywhere: " << ended.output;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("warning: no checkpoint after step 199: "), HasSubstr("model-00001-of-00001"),
                    HasSubstr("warning: no checkpoint after step 299: "), HasSubstr("are lost")));
  EXPECT_TRUE(fs::exists(folder_.path() / kept)) << "the last checkpoint remains";
  EXPECT_FALSE(fs::exists(folder_.path() / "a/step-00000300.partial"));
}

TEST_F(SavedAndStopped, ARunWithoutARecordLeavesNoTemporaryFiles) {
  fs::create_directories(folder_.path() / "tmp");
  ASSERT_EQ(run("export TMPDIR=$PWD/tmp; " + reference_ + "a && " + bin() +
                "/plumbline-pipeline run.toml --quiet --transport threads --ranks 2 --checkpoint b")
                .code,
            0);
  EXPECT_TRUE(fs::is_empty(folder_.path() / "tmp"));
}

}  // namespace
}  // namespace plumbline::testing
