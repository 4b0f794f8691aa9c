// Shards of a sweep, run apart and put together, against the same sweep run as a whole.
#include "harness/sweep/merge_sweeps.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class MergeSweeps : public RunSweep {
 protected:
  MergeSweeps() {
    sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\", \"afab\"]\n");
    options_.judge = "one judge";
  }
  fs::path shard(std::int64_t number, std::int64_t of) {
    options_.shard = Shard{number, of};
    options_.out = folder_ / ("shard-" + std::to_string(number) + "-of-" + std::to_string(of));
    run();
    return *options_.out;
  }
  fs::path whole() {
    options_.shard.reset();
    options_.out = folder_ / "whole";
    run();
    return *options_.out;
  }
  /// Without what differs from run to run: times, and the folder in commands.
  static Json of_a_sweep(const fs::path& folder) {
    Json verdict = read_json(folder / "verdict.json");
    verdict.erase("started");
    for (auto& cell : verdict.at("cells")) {
      cell.erase("seconds");
      cell.erase("command");
    }
    for (auto& reference : verdict.at("references")) reference.erase("seconds");
    for (const char* key : {"seconds", "compared_seconds"}) verdict.erase(key);
    return verdict;
  }
  std::string refusal(const std::vector<fs::path>& parts, const fs::path& out) {
    return error_of<InputError>([&] { merge_sweeps(parts, out); });
  }
};

TEST_F(MergeSweeps, TwoShardsAreJudgedAsTheWholeIs) {
  const fs::path one = shard(1, 2), two = shard(2, 2), all = whole();
  EXPECT_EQ(read_verdict(one / "verdict.json").cells.size(), 4U);
  EXPECT_TRUE(read_verdict(one / "verdict.json").selection.partial());
  const auto judged_before = judged_.size();

  const MergedSweep merged = merge_sweeps({two, one}, folder_ / "merged");
  const Verdict verdict = judge_again(folder_ / "merged", services_, nullptr, stderr);

  EXPECT_THAT(merged.missing, IsEmpty());
  EXPECT_EQ(judged_.size(), judged_before + 8) << "all of it again, from the records";
  EXPECT_TRUE(verdict.holds);
  EXPECT_FALSE(verdict.selection.partial());
  EXPECT_EQ(of_a_sweep(folder_ / "merged"), of_a_sweep(all));
  EXPECT_EQ(reports_.back(), folder_ / "merged");
}

TEST_F(MergeSweeps, AShardThatIsMissingIsTold) {
  const fs::path one = shard(1, 3), three = shard(3, 3);

  const MergedSweep merged = merge_sweeps({one, three}, folder_ / "merged");

  EXPECT_THAT(merged.missing, ElementsAre("a-1f1b-w2", "b-1f1b-w1", "b-afab-w2"));
  EXPECT_TRUE(judge_again(folder_ / "merged", services_, nullptr, stderr).selection.partial());
}

TEST_F(MergeSweeps, WhatIsNotPartOfOneSweepIsRefused) {
  const fs::path one = shard(1, 2);
  const fs::path out = folder_ / "merged";

  EXPECT_THAT(refusal({one}, out), HasSubstr("at least two"));
  EXPECT_THAT(refusal({one, one}, out), HasSubstr("is named twice"));
  EXPECT_THAT(refusal({one, folder_ / "none"}, out), HasSubstr("holds no sweep"));
  EXPECT_THAT(refusal({one, whole()}, out), AllOf(HasSubstr("holds the cell a-1f1b-w1"), HasSubstr("another part")));
  EXPECT_THAT(refusal({one, shard(2, 2)}, one), HasSubstr("is there already"));

  options_.judge = "another judge";
  EXPECT_THAT(refusal({one, shard(3, 4)}, out), HasSubstr("different builds of this program"));
  options_.judge = "one judge";
  std::ofstream(folder_ / "plumbline-pipeline", std::ios::app) << "# another build\n";
  EXPECT_THAT(refusal({one, shard(4, 5)}, out), HasSubstr("the trainers have changed"));
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\", \"afab\"]\n");
  EXPECT_THAT(refusal({one, shard(2, 6)}, out), HasSubstr("their sweep files differ"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace plumbline::testing
