// SPDX-License-Identifier: BSD-3-Clause
// Sweeps of users' commands whose reference runs again with {norms_from}, for cases whose clip coefficients diverge.
#include "harness/judge/judge.hpp"
#include "harness/sweep/merge_sweeps.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

const char* const clipping_trainer = R"sh(
world=$1 record=$2 norms=$3
echo "$world $(basename "$(dirname "$record")") '$norms'" >> calls
[ -n "$norms" ] && [ -e stops ] && { kill -INT $(cat stops); sleep 20; }
[ -n "$norms" ] && [ -e fails ] && { echo "no such norms" >&2; exit 7; }
cp -r prepared/w$world $record
)sh";

/// A judge that finds diverged coefficients in step 1 unless the reference replays them.
class NormsFrom : public RunSweep {
 protected:
  NormsFrom() {
    services_.version = "one judge";
    services_.judge = [this](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                             const std::optional<fs::path>& repeated) {
      CellVerdict verdict = judge_cell(plan, reference, candidate, repeated);
      CheckResult& check = *std::ranges::find(verdict.checks, "parameters", &CheckResult::name);
      const std::lock_guard lock(mutex_);
      judged_by_.push_back(reference.parent_path().filename().string());
      if (judged_by_.back() == "references") {
        check.outcome = Outcome::incomplete;
        check.from_step = 1;
        check.reason = "a rounding" + (plan.replay_launch ? ": " + plan.replay_launch->words : "");
        check.accepted = std::ranges::count(plan.accept_missing, "parameters") > 0;
      } else if (break_replayed_) {
        check.outcome = Outcome::differs;
        verdict.first_divergence = check.first_divergence = Finding{.claim = "parameters"};
      }
      verdict.holds = none_blocks(verdict.checks);
      return verdict;
    };
    program(folder_, "train.sh", clipping_trainer);
    write_run(synthetic_reference({}), folder_ / "prepared/w1");
    write_run(synthetic_candidate({}), folder_ / "prepared/w2");
    forget_processes(folder_ / "prepared");
    sweep_file();
  }

  void sweep_file(const std::string& more = "", const std::string& norms = "{norms_from}") {
    options_.sweep_file = folder_.file(
        "theirs.toml", "reference = [\"./train.sh\", \"{world}\", \"{record}\", \"" + norms +
                           "\"]\ncandidate = [\"./train.sh\", \"{world}\", \"{record}\", \"\", \"{tag}\"]\n" +
                           "world_sizes = [2]\nvalues = { tag = \"a\" }\n" + more);
  }
  std::string replay_call() const { return "1 replays '" + (folder_ / "out/cells/w2").string() + "'"; }
  std::string log() const { return bytes_of(folder_ / "log"); }

  std::vector<std::string> judged_by_;
  bool break_replayed_ = false;
};

TEST_F(NormsFrom, TheReferenceReplaysTheCasesNormsAndTheCaseIsComparedWithThat) {
  const Verdict verdict = run().verdict;

  EXPECT_THAT(calls(), ElementsAre("1 references ''", "2 cells ''", replay_call()));
  EXPECT_THAT(judged_by_, ElementsAre("references", "replays"));
  EXPECT_TRUE(verdict.holds) << log();
  EXPECT_EQ(verdict.cells[0].reference, "theirs");
  EXPECT_EQ(bytes_of(folder_ / "out/launches/replay-w2/command.txt").find("norms_from"), std::string::npos);
  EXPECT_THAT(log(),
              AllOf(HasSubstr("compared up to the update of step 1; the reference will run again with its norms"),
                    HasSubstr("w2, its norms replayed by the reference: holds"), Not(HasSubstr("INCOMPLETE"))));
}

TEST_F(NormsFrom, WithoutThePlaceholderTheCaseStaysIncomplete) {
  sweep_file("", "");

  const Verdict verdict = run().verdict;

  EXPECT_THAT(calls(), ElementsAre("1 references ''", "2 cells ''"));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.counts.at("cases_incomplete"), 1);
  EXPECT_EQ(verdict.cells[0].second_run, std::nullopt) << "nothing differed, so nothing can be unstable";
  EXPECT_THAT(log(), AllOf(HasSubstr("INCOMPLETE\n  parameters were not compared from step 1 on: a rounding"),
                           Not(HasSubstr("DOES NOT HOLD"))));
}

TEST_F(NormsFrom, AFailedReplayKeepsTheFirstVerdictWithTheReason) {
  folder_.file("fails", "");

  const Verdict verdict = run().verdict;

  EXPECT_THAT(judged_by_, ElementsAre("references", "references"));
  EXPECT_TRUE(verdict.cells[0].incomplete());
  EXPECT_THAT(missing_words(verdict.cells[0].checks, false),
              AllOf(HasSubstr("a rounding: "), HasSubstr("no such norms")));
  options_.resume = true;
  run();
  EXPECT_THAT(calls(), SizeIs(3)) << "it is not tried again";
  fs::remove(folder_ / "fails");
  options_.again = true;
  EXPECT_TRUE(run().verdict.holds) << log();
}

// Or the verdict before it would be kept.
TEST_F(NormsFrom, AStoppedReplayRunsWhenTheSweepIsResumed) {
  folder_.file("stops", std::to_string(getpid()));
  EXPECT_THAT(error_of<SystemError>([&] { run(); }), HasSubstr("while replay-w2 ran. 0 of 1 cases are finished"));
  fs::remove(folder_ / "stops");
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds) << log();
  EXPECT_THAT(judged_by_, ElementsAre("references", "references", "replays"));
  EXPECT_THAT(calls(), SizeIs(4)) << "the reference, the case, and the replay twice";
}

TEST_F(NormsFrom, ACaseThatDiffersInTheReplayFails) {
  break_replayed_ = true;

  const Verdict verdict = run().verdict;
  EXPECT_THAT(log(), HasSubstr("second run: fails again; to see the first element that differs, pass {level} to both "
                               "commands"));

  EXPECT_FALSE(verdict.holds);
  EXPECT_FALSE(verdict.cells[0].incomplete());
  EXPECT_EQ(verdict.cells[0].second_run->outcome, SecondRun::Outcome::fails_again);
  EXPECT_THAT(judged_by_, ElementsAre("references", "replays", "replays")) << "and its second run is judged by it, too";
}

TEST_F(NormsFrom, TheReplayIsKeptWhenResumedRejudgedAndMerged) {
  run();
  options_.resume = true;
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(judged_by_, SizeIs(2)) << "the verdict was kept";
  services_.version = "another judge";
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_TRUE(judge_again(folder_ / "out", services_, nullptr, stderr).holds);

  EXPECT_THAT(judged_by_, ElementsAre("references", "replays", "replays", "replays"));
  EXPECT_THAT(calls(), SizeIs(3)) << "nothing was run again";

  fs::remove_all(folder_ / "out/replays");
  services_.version = "a third judge";
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), SizeIs(4)) << "the replay was removed, and is made again";
}

TEST_F(NormsFrom, ShardsAreMergedWithTheirReplays) {
  sweep_file("[[cell]]\nworld_size = 2\ntag = \"b\"\n");
  const fs::path one = shard(1, 2), two = shard(2, 2);
  judged_by_.clear();

  merge_sweeps({one, two}, folder_ / "whole");

  EXPECT_TRUE(judge_again(folder_ / "whole", services_, nullptr, stderr).holds);
  EXPECT_THAT(judged_by_, ElementsAre("replays", "replays"));
}

TEST_F(NormsFrom, ACandidateThatRunsAgainNeedsAnotherReplay) {
  options_.keep_failures = true;
  run();
  EXPECT_FALSE(fs::exists(folder_ / "out/replays/w2/manifest.json")) << "removed with the case's record";
  options_.resume = true;
  services_.version = "another judge";

  EXPECT_TRUE(run().verdict.holds) << log();

  EXPECT_THAT(calls(), Contains(replay_call()).Times(2));
}

TEST_F(NormsFrom, AcceptedGapsHoldAndAnotherListRejudgesTheRecords) {
  sweep_file("accept_missing = [\"parameters\"]\n", "");
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(log(), HasSubstr("holds, accepted although parameters were not compared from step 1 on: a rounding"));

  options_.resume = true;
  sweep_file("accept_missing = [\"loss\"]\n", "");
  EXPECT_TRUE(run().verdict.cells[0].incomplete());
  sweep_file("", "");
  EXPECT_TRUE(run().verdict.cells[0].incomplete());
  EXPECT_THAT(judged_by_, SizeIs(3)) << "each list judges the records again";
  EXPECT_THAT(calls(), SizeIs(2)) << "and nothing runs again";

  sweep_file("accept_missing = [\"parameters\"]\n", "");
  run();
  EXPECT_TRUE(judge_again(folder_ / "out", services_, nullptr, stderr).holds) << "the kept plan has the list";
}

}  // namespace
}  // namespace plumbline::testing
