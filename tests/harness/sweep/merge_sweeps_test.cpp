// SPDX-License-Identifier: BSD-3-Clause
// Merged shards of a sweep compared with the same sweep run as a whole.
#include "harness/sweep/merge_sweeps.hpp"

#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
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

TEST_F(MergeSweeps, TwoShardsAreJudgedAsTheWholeIs) {
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

TEST_F(MergeSweeps, AShardThatIsMissingIsTold) {
  const fs::path one = shard(1, 3), three = shard(3, 3);

  const auto missing = merge_sweeps({one, three}, folder_ / "merged");

  EXPECT_THAT(missing, ElementsAre("a-1f1b-w2", "b-1f1b-w1", "b-afab-w2"));
  EXPECT_TRUE(judge_again(folder_ / "merged", services_, nullptr, stderr).selection.partial());
}

TEST_F(MergeSweeps, WhatIsNotPartOfOneSweepIsRefused) {
  const fs::path one = shard(1, 2);
  const fs::path out = folder_ / "merged";

  EXPECT_THAT(refusal({one}, out), HasSubstr("at least two"));
  EXPECT_THAT(refusal({one, folder_ / "none"}, out), HasSubstr("holds no sweep"));
  EXPECT_THAT(refusal({one, whole()}, out), AllOf(HasSubstr("holds the case a-1f1b-w1"), HasSubstr("another part")));
  EXPECT_THAT(refusal({one, shard(2, 2)}, one), HasSubstr("already exists"));
  EXPECT_FALSE(fs::exists(out));
}

/// Parts made by hand, of which nothing was run: what is put together from their sweep.json, and which files are taken.
class MergeParts : public ::testing::Test {
 protected:
  struct Part {
    KeptSweep sweep;
    SweepFingerprint fingerprint;
    std::string started = "2026-11-22T10:00:00Z";
  };
  MergeParts() {
    for (const int number : {0, 1, 2}) {
      Part& part = parts_[number];
      part.sweep.name = "small";
      part.sweep.file = "of one file";
      part.sweep.all_cells = {"a-w1", "a-w2", "b-w1"};
      part.sweep.selection.of_cells = 3;
      part.sweep.references = {{number == 2 ? "b" : "a", "run", "model", "adamw", false, true}};
      CellPlan cell;
      cell.id = part.sweep.all_cells[static_cast<std::size_t>(number)];
      cell.reference = part.sweep.references[0].id;
      cell.world = 1;
      part.sweep.cells = {cell};
      part.fingerprint.shared = {{"the trainers", "t"}};
      part.fingerprint.runs = {{cell.id, "of " + cell.id}};
      part.fingerprint.judge = "one judge";
    }
  }
  fs::path folder(int number) const { return folder_ / ("part-" + std::to_string(number)); }
  /// All three, in this order.
  std::vector<std::string> merge(const std::vector<int>& order = {0, 1, 2}) {
    std::vector<fs::path> paths;
    for (const int number : order) {
      const Part& part = parts_[number];
      make_folder(folder(number));
      SweepFolder::write_sweep(folder(number), part.sweep.name, part.fingerprint, part.started, to_json(part.sweep));
      paths.push_back(folder(number));
    }
    return merge_sweeps(paths, out_);
  }
  std::string refused() {
    return error_of<InputError>([&] { merge(); });
  }
  KeptSweep merged() const { return read_kept_sweep(out_ / "sweep.json"); }

  TemporaryFolder folder_;
  const fs::path out_ = folder_ / "merged";
  std::map<int, Part> parts_;
};

TEST_F(MergeParts, HaveTheCellsInTheFilesOrderAndEachReferenceOnce) {
  EXPECT_THAT(merge({2, 1, 0}), IsEmpty());

  const KeptSweep whole = merged();
  ASSERT_THAT(whole.cells, SizeIs(3));
  EXPECT_EQ(whole.cells[0].id, "a-w1");
  EXPECT_EQ(whole.cells[1].id, "a-w2");
  EXPECT_EQ(whole.cells[2].id, "b-w1");
  ASSERT_THAT(whole.references, SizeIs(2));
  EXPECT_EQ(whole.references[0].id, "a");
  EXPECT_EQ(whole.references[1].id, "b");
}

// What is asked of a reference's data is what the cells of any part ask.
TEST_F(MergeParts, AskOfAReferenceWhatAnyPartAsks) {
  parts_[1].sweep.references[0].bench = true;
  parts_[1].sweep.references[0].equal_lengths = false;
  merge();
  EXPECT_TRUE(merged().references[0].bench);
  EXPECT_FALSE(merged().references[0].equal_lengths);
  EXPECT_FALSE(merged().references[1].bench) << "another's";
  EXPECT_TRUE(merged().references[1].equal_lengths);

  fs::remove_all(out_);
  merge({1, 0, 2});
  EXPECT_TRUE(merged().references[0].bench);
  EXPECT_FALSE(merged().references[0].equal_lengths);
}

// Or a run of one part could be gone on with after its inputs have changed.
TEST_F(MergeParts, KeepWhatEveryRunWasMadeFromAndWhenTheFirstBegan) {
  parts_[1].started = "2026-11-22T09:00:00Z";

  merge();

  const Json kept = read_json(out_ / "sweep.json");
  const SweepFingerprint all = read_fingerprint(kept, out_ / "sweep.json");
  EXPECT_THAT(all.runs, ElementsAre(Pair("a-w1", "of a-w1"), Pair("a-w2", "of a-w2"), Pair("b-w1", "of b-w1")));
  EXPECT_EQ(kept.at("started"), "2026-11-22T09:00:00Z");
}

TEST_F(MergeParts, FilesOfEveryKindAreTakenAndNoneTwice) {
  const std::vector<std::string> kinds = {"references", "cells",        "repeats", "dumps",
                                          "again",      "calibrations", "launches"};
  for (const auto& kind : kinds) {
    for (const int number : {0, 1, 2}) {
      const std::string of_part = std::to_string(number);
      folder_.file("part-" + of_part + "/" + kind + "/own-" + of_part + "/rank-0/file.txt", kind + of_part);
      folder_.file("part-" + of_part + "/" + kind + "/shared/from-" + of_part + ".txt", "");
    }
  }

  merge();

  for (const auto& kind : kinds) {
    for (const int number : {0, 1, 2}) {
      const std::string of_part = std::to_string(number);
      EXPECT_EQ(bytes_of(out_ / kind / ("own-" + of_part) / "rank-0" / "file.txt"), kind + of_part);
      EXPECT_EQ(fs::exists(out_ / kind / "shared" / ("from-" + of_part + ".txt")), number == 0) << kind << of_part;
    }
  }
}

TEST_F(MergeParts, OfWhichTheLastIsAnothersAreRefused) {
  const auto good = parts_;
  parts_[2].sweep.file = "another";
  EXPECT_THAT(refused(), AllOf(HasSubstr(folder(0).string() + " and " + folder(2).string()),
                               HasSubstr("their sweep files differ")));
  parts_ = good;
  parts_[2].sweep.name = "other";
  EXPECT_THAT(refused(), HasSubstr("their sweep files differ (small, other)"));
  parts_ = good;
  parts_[2].fingerprint.judge = "another";
  EXPECT_THAT(refused(), HasSubstr("different builds of this program"));
  parts_ = good;
  parts_[2].fingerprint.shared["the trainers"] = "others";
  EXPECT_THAT(refused(), HasSubstr("the trainers have changed"));
  parts_ = good;
  parts_[0].fingerprint.runs["reference-a"] = "one";
  parts_[1].fingerprint.runs["reference-a"] = "other";
  EXPECT_THAT(refused(), HasSubstr("what reference-a was made from has changed"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(MergeParts, WithOneCellInTwoOfThemAreRefused) {
  parts_[2].sweep.cells.push_back(parts_[1].sweep.cells[0]);

  EXPECT_THAT(refused(), AllOf(HasSubstr(folder(2).string() + ": holds the case a-w2"), HasSubstr("another part")));
}

TEST_F(MergeParts, OfAnOlderVersionAreRefused) {
  parts_[1].sweep.file = "";

  EXPECT_THAT(refused(), AllOf(HasSubstr("part-1/sweep.json"), HasSubstr("an older version made this sweep")));
}

TEST_F(MergeParts, NamedTwiceAreRefusedWherever) {
  EXPECT_THAT(error_of<InputError>([&] { merge({0, 1, 1}); }), HasSubstr(folder(1).string() + ": is named twice"));
}

TEST_F(MergeParts, GoIntoAFolderThatIsEmptyAndIntoNoFile) {
  make_folder(out_);
  merge();
  EXPECT_TRUE(fs::exists(out_ / "sweep.json"));

  fs::remove_all(out_);
  folder_.file("merged", "precious");
  EXPECT_THAT(refused(), HasSubstr("already exists"));
}

// A part whose plan names a reference that it does not list: the cell is told of, not lost.
TEST_F(MergeParts, ACellWhoseReferenceIsNotListedIsKept) {
  parts_[1].sweep.references.clear();
  parts_[1].sweep.cells[0].reference = "nowhere";

  merge();

  EXPECT_THAT(merged().cells, SizeIs(3));
  EXPECT_THAT(merged().references, SizeIs(2));
}

}  // namespace
}  // namespace plumbline::testing
