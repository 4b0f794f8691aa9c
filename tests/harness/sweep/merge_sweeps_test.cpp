// SPDX-License-Identifier: BSD-3-Clause
// Merged shards of a sweep compared with the same sweep run as a whole.
#include "harness/sweep/merge_sweeps.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class MergeSweeps : public RunSweep {
 protected:
  MergeSweeps() {
    sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\", \"afab\"]\n");
    services_.version = "one judge";
  }
  fs::path whole() {
    options_.shard.reset();
    options_.out = folder_ / "whole";
    run();
    return *options_.out;
  }
  /// Removes what differs from run to run: times, and the folder in commands.
  static Json of_a_sweep(const fs::path& folder) {
    Json verdict = read_json(folder / "verdict.json");
    verdict.erase("started");
    for (auto& cell : verdict.at("cases")) {
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

TEST_F(MergeSweeps, TwoShardsGetTheVerdictOfTheWhole) {
  const fs::path one = shard(1, 2), two = shard(2, 2), all = whole();
  EXPECT_EQ(read_verdict(one / "verdict.json").cells.size(), 4U);
  EXPECT_TRUE(read_verdict(one / "verdict.json").selection.partial());
  const auto judged_before = judged_.size();

  const auto missing = merge_sweeps({two, one}, folder_ / "merged");
  const Verdict verdict = judge_again(folder_ / "merged", services_, nullptr, stderr);

  EXPECT_THAT(missing, IsEmpty());
  EXPECT_EQ(judged_.size(), judged_before + 8) << "all of it again, from the records";
  EXPECT_TRUE(verdict.holds);
  EXPECT_FALSE(verdict.selection.partial());
  EXPECT_EQ(of_a_sweep(folder_ / "merged"), of_a_sweep(all));
  EXPECT_EQ(reports_.back(), folder_ / "merged");
}

TEST_F(MergeSweeps, AMissingShardIsReported) {
  const fs::path one = shard(1, 3), three = shard(3, 3);

  const auto missing = merge_sweeps({one, three}, folder_ / "merged");

  EXPECT_THAT(missing, ElementsAre("a-1f1b-w2", "b-1f1b-w1", "b-afab-w2"));
  EXPECT_TRUE(judge_again(folder_ / "merged", services_, nullptr, stderr).selection.partial());
}

TEST_F(MergeSweeps, AMergedSweepCanBeResumed) {
  const fs::path one = shard(1, 3), three = shard(3, 3);
  merge_sweeps({one, three}, folder_ / "merged");
  fs::remove(folder_ / "calls");
  options_.shard.reset();
  options_.out = folder_ / "merged";
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-pipeline a-1f1b-w2", "plumbline-pipeline b-1f1b-w1",
                                   "plumbline-pipeline b-afab-w2"));
}

TEST_F(MergeSweeps, ACaseInTwoPartsWithEqualInputsIsOneCase) {
  const fs::path one = shard(1, 2), all = whole();

  EXPECT_THAT(merge_sweeps({one, all}, folder_ / "merged"), IsEmpty());
  EXPECT_EQ(judge_again(folder_ / "merged", services_, nullptr, stderr).cells.size(), 8U);

  options_.out = folder_ / "others";
  options_.cells = {"a-1f1b-w1"};
  folder_.file("config.json", R"({"num_hidden_layers": 3})");
  run();
  EXPECT_THAT(refusal({one, folder_ / "others"}, folder_ / "out"),
              AllOf(HasSubstr(one.string() + " and " + (folder_ / "others").string()),
                    HasSubstr("reference-a differs between the two (the model); merge only one of them")));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

// A reference that both parts ran: one of them would be judged by what it was not compared with.
TEST_F(MergeSweeps, PartsOfDifferentTrainersAreRefused) {
  const fs::path one = shard(1, 2);
  std::ofstream(folder_ / "plumbline-pipeline", std::ios::app) << "# another build\n";

  EXPECT_THAT(refusal({one, shard(2, 2)}, folder_ / "out"),
              HasSubstr("reference-a differs between the two (the trainers)"));
}

TEST_F(MergeSweeps, FoldersOfDifferentSweepsAreRefused) {
  const fs::path one = shard(1, 2), two = shard(2, 2);
  const fs::path out = folder_ / "merged";

  EXPECT_THAT(refusal({one}, out), HasSubstr("at least two"));
  EXPECT_THAT(refusal({one, folder_ / "none"}, out), HasSubstr("is not the folder of a sweep"));
  EXPECT_THAT(refusal({one, two}, one), HasSubstr("already exists"));
  EXPECT_THAT(refusal({one, two}, folder_.file("notes", "precious")), HasSubstr("already exists"));
  EXPECT_THAT(refusal({one, two, two}, out), HasSubstr(two.string() + ": is named twice"));
  sweep_file("run = [\"a.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
  EXPECT_THAT(refusal({one, whole()}, out), HasSubstr("their sweep files differ"));
  EXPECT_FALSE(fs::exists(out));
  make_folder(out);
  EXPECT_THAT(merge_sweeps({one, two}, out), IsEmpty()) << "an empty folder is free";
}

TEST_F(MergeSweeps, HasAllRecordsAndTheStartOfTheFirstPart) {
  const fs::path one = shard(1, 2), two = shard(2, 2), out = folder_ / "merged";
  for (const char* kind : {"repeats", "replays", "dumps", "again", "calibrations"})
    folder_.file("shard-2-of-2/" + std::string(kind) + "/own/rank-0/file.txt", kind);
  Json kept = read_json(two / "sweep.json");
  kept["started"] = "2000-01-01T00:00:00Z";
  write_json(two / "sweep.json", kept);

  merge_sweeps({one, two}, out);

  for (const char* kind : {"repeats", "replays", "dumps", "again", "calibrations"})
    EXPECT_EQ(bytes_of(out / kind / "own/rank-0/file.txt"), kind);
  for (const char* place : {"references/a", "references/b", "cells/a-1f1b-w1", "cells/b-afab-w2"})
    EXPECT_TRUE(fs::exists(out / place / "manifest.json")) << place;
  EXPECT_EQ(read_json(out / "sweep.json").at("started"), "2000-01-01T00:00:00Z");
}

}  // namespace
}  // namespace plumbline::testing
