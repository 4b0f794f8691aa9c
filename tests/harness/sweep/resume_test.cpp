// SPDX-License-Identifier: BSD-3-Clause
// What --resume keeps: whole runs, and verdicts of the current judge.
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class Resume : public RunSweep {
 protected:
  Resume() {
    folder_.file("text.txt", "to be or not to be");
    run_file("a", "4, 8");
    run_file("b", "4, 9");
    sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
    services_.version = "one judge";
  }
  void run_file(const std::string& name, const std::string& lengths) {
    folder_.file(name + ".toml",
                 "[model]\nconfig = \"config.json\"\n[data]\ntext = \"text.txt\"\nlengths = [" + lengths + "]\n");
  }
  std::string log() const { return bytes_of(folder_ / "log"); }
  /// The sweep has ended, and is asked for again.
  void resume() {
    run();
    fs::remove(folder_ / "calls");
    options_.resume = true;
  }
};

TEST_F(Resume, KeepsAllRunsIfNothingChanged) {
  resume();

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_THAT(judged_, SizeIs(4)) << "only the first time";
}

TEST_F(Resume, RunsWithChangedInputsAreRepeatedAndTheInputIsNamed) {
  resume();
  run_file("b", "4, 10");

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(),
              ElementsAre("plumbline-reference b", "plumbline-pipeline b-1f1b-w1", "plumbline-pipeline b-1f1b-w2"));
  EXPECT_THAT(log(), HasSubstr("the run file changed: 3 of 6 runs are repeated"));

  folder_.file("text.txt", "that is the question");
  fs::remove(folder_ / "calls");
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), SizeIs(6));
  EXPECT_THAT(log(), HasSubstr("the data changed: 6 of 6 runs are repeated"));

  std::ofstream(folder_ / "plumbline-pipeline", std::ios::app) << "# another build\n";
  fs::remove(folder_ / "calls");
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), SizeIs(6));
  EXPECT_THAT(log(), HasSubstr("the trainers changed: 6 of 6 runs are repeated"));

  fs::remove(folder_ / "calls");
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty());
}

// Nothing of it is left that a later judge would take for a run of today.
TEST_F(Resume, RunsWithChangedInputsAreRemovedEvenIfTheSweepStopsEarly) {
  resume();
  folder_.file("text.txt", "that is the question");
  behave("kill -INT " + std::to_string(getpid()) + "; sleep 20\n");

  error_of<SystemError>([&] { run(); });

  EXPECT_THAT(read_verdict(folder_ / "out/verdict.json").cells, IsEmpty());
  EXPECT_THAT(judge_again(folder_ / "out", services_, nullptr, stderr).not_run, SizeIs(4));
}

TEST_F(Resume, ARunWithDamagedFindingOrInputsIsRepeated) {
  resume();
  for (const char* file : {"finding.json", "inputs.json"}) {
    fs::remove(folder_ / "calls");
    folder_.file(std::string("out/launches/reference-a/") + file, "{");
    folder_.file(std::string("out/launches/b-1f1b-w2/") + file, "{");
    folder_.file("out/cells/b-1f1b-w2/cell.json", "{");

    EXPECT_TRUE(run().verdict.holds);
    EXPECT_THAT(calls(), ElementsAre("plumbline-reference a", "plumbline-pipeline b-1f1b-w2")) << file;
  }
}

TEST_F(Resume, AMissingFolderStartsANewSweep) {
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), SizeIs(6));
}

TEST_F(Resume, AnotherJudgeRejudgesTheRecords) {
  resume();
  services_.version = "another judge";

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty()) << "nothing is run";
  EXPECT_THAT(judged_, SizeIs(8));

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(judged_, SizeIs(8)) << "its verdicts are kept";
}

TEST_F(Resume, NewCasesRunAndFinishedOnesStay) {
  resume();
  sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2, 3]\nschedules = [\"1f1b\"]\n");

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline a-1f1b-w3", "plumbline-pipeline b-1f1b-w3"));
  EXPECT_THAT(result.verdict.cells, SizeIs(6));
  EXPECT_FALSE(result.verdict.selection.partial());
}

TEST_F(Resume, ASelectionGrowsToTheWholeSweep) {
  options_.cells = {"*-w2"};
  resume();
  options_.cells = {"a-*"};

  EXPECT_THAT(finished(run().verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w2")) << "what it has, and more";
  options_.cells.clear();
  EXPECT_THAT(run().verdict.cells, SizeIs(4));
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline a-1f1b-w1", "plumbline-pipeline b-1f1b-w1"));
}

TEST_F(Resume, ASelectionDropsCasesRemovedFromTheSweepFile) {
  options_.cells = {"*-w2"};
  resume();
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
  options_.cells = {"a-1f1b-w1"};

  EXPECT_THAT(finished(run().verdict), ElementsAre("a-1f1b-w1", "a-1f1b-w2"));
}

TEST_F(Resume, AFinishedButUnjudgedRunIsJudged) {
  resume();
  fs::remove(folder_ / "out/cells/b-1f1b-w1/cell.json");

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(judged_.back().id, "b-1f1b-w1");
}

/// Lines for behave(): rank 1 of this cell dies, the first time and when it is run once more.
const std::string dies_twice =
    "[ $(basename $record) = b-1f1b-w2 ] && [ ! -e $base/mended ] && { page $record $me 1 -1 ${me}B3; sleep 0.2; "
    "[ $me = 1 ] && kill -KILL $$; sleep 20; }\n";

TEST_F(Resume, FailedCasesAreRepeatedOnlyWithAgain) {
  behave(dies_twice);
  resume();
  EXPECT_FALSE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty());

  folder_.file("mended", "");
  options_.again = true;

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline b-1f1b-w2"));
}

TEST_F(Resume, ARemovedReferenceRunsAgainAndFailedCasesAreRejudged) {
  const auto judge = services_.judge;
  services_.judge = [&](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                        const std::optional<fs::path>& repeated) {
    CellVerdict verdict = judge(plan, reference, candidate, repeated);
    if (!fs::exists(reference / "manifest.json")) verdict.holds = false;
    if (plan.id == "a-1f1b-w1") fs::remove_all(reference);
    return verdict;
  };
  resume();
  services_.judge = judge;
  judged_.clear();

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a"));
  ASSERT_THAT(judged_, SizeIs(1)) << "what held stays";
  EXPECT_EQ(judged_[0].id, "a-1f1b-w2");
}

TEST_F(Resume, ADamagedVerdictIsRejudgedFromTheRecord) {
  behave(dies_twice);
  resume();
  const fs::path kept = folder_ / "out/cells/b-1f1b-w2/cell.json";
  const Json written = read_json(kept);
  ASSERT_FALSE(written["cases"][0]["holds"].get<bool>());
  Json holds = written, other_world = written, without_a_check = written, of_another_cell = written;
  holds["holds"] = holds["cases"][0]["holds"] = true;
  other_world["cases"][0]["world"] = 7;
  without_a_check["claims"].erase(0);
  of_another_cell["cases"][0]["id"] = "b-1f1b-w1";
  for (const Json& changed : {holds, other_world, without_a_check, of_another_cell, Json::object()}) {
    write_json(kept, changed);
    judged_.clear();

    const auto verdict = run().verdict;

    EXPECT_FALSE(verdict.holds) << changed.dump();
    ASSERT_THAT(judged_, Not(IsEmpty())) << changed.dump();
    EXPECT_EQ(judged_[0].id, "b-1f1b-w2") << "nothing else";
    EXPECT_EQ(read_json(kept)["cases"][0]["world"], 2);
  }
}

}  // namespace
}  // namespace plumbline::testing
