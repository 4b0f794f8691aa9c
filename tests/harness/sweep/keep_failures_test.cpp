// SPDX-License-Identifier: BSD-3-Clause
// --keep failures: what is removed, what stays, and what can be done with it.
#include "harness/sweep/merge_sweeps.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class KeepFailures : public RunSweep {
 protected:
  KeepFailures() {
    options_.keep_failures = true;
    services_.version = "one judge";
    sweep_file(
        "run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\nrepeat = [\"b-1f1b-w2\"]\n");
    behave(
        "[ $(basename $record) = a-1f1b-w2 ] && [ ! -e $base/mended ] && [ $me = 0 ] && "
        "{ until [ -e $record/rank-1 ]; do sleep 0.01; done; exit 1; }\n");
  }
  void run_first() {
    run();
    fs::remove(folder_ / "calls");
  }
  bool has_record(const std::string& place) const { return fs::exists(folder_ / "out" / place / "manifest.json"); }
};

TEST_F(KeepFailures, RemovesOnlyRecordsThatHold) {
  run_first();

  for (const char* gone : {"cells/a-1f1b-w1", "cells/b-1f1b-w2", "repeats/b-1f1b-w2"})
    EXPECT_FALSE(has_record(gone)) << gone;
  for (const char* there : {"references/a", "references/b"}) EXPECT_TRUE(has_record(there)) << there;
  EXPECT_TRUE(fs::exists(folder_ / "out/cells/a-1f1b-w2/rank-1"));
  EXPECT_EQ(read_verdict(folder_ / "out/verdict.json").cells.size(), 4U);
}

TEST_F(KeepFailures, RejudgingKeepsVerdictsOfTheSameJudge) {
  run_first();
  const auto before = judged_.size();

  const Verdict verdict = judge_again(folder_ / "out", services_, nullptr, stderr);

  EXPECT_EQ(judged_.size(), before + 1) << "the failing one alone";
  EXPECT_EQ(verdict.cells.size(), 4U);
  EXPECT_EQ(verdict.counts.at("cases_holding"), 3);
  EXPECT_EQ(verdict.machine.at("machine").at("cpu"), "fake");

  services_.version = "another judge";
  const Verdict other = judge_again(folder_ / "out", services_, nullptr, stderr);
  EXPECT_THAT(finished(other), ElementsAre("a-1f1b-w2"));
  ASSERT_THAT(other.not_run, SizeIs(3));
  EXPECT_THAT(other.not_run[0], HasSubstr("a-1f1b-w1: its record was removed, and another build"));
}

TEST_F(KeepFailures, ResumingRepeatsRunsOnlyForAnotherJudge) {
  run_first();
  options_.resume = true;
  run();
  EXPECT_THAT(calls(), IsEmpty());

  services_.version = "another judge";
  folder_.file("mended", "");
  run();
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline a-1f1b-w1", "plumbline-pipeline b-1f1b-w1",
                                   "plumbline-pipeline b-1f1b-w2", "plumbline-pipeline b-1f1b-w2",
                                   "plumbline-pipeline a-1f1b-w2"))
      << "and the second run of the one that fails by its record";
}

TEST_F(KeepFailures, ShardsAreMergedWithTheirVerdicts) {
  folder_.file("mended", "");
  const fs::path one = shard(1, 2), two = shard(2, 2);

  EXPECT_THAT(merge_sweeps({one, two}, folder_ / "whole"), IsEmpty());

  const Verdict verdict = judge_again(folder_ / "whole", services_, nullptr, stderr);
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.counts.at("cases_holding"), 4);
}

}  // namespace
}  // namespace plumbline::testing
