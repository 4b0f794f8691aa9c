// SPDX-License-Identifier: BSD-3-Clause
// Sizes, lists and orders of sums in a plan's cases, and schedules that are files.
#include "harness/sweep/sweep_plan.hpp"
#include "support/error.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

class PlannedSizes : public ::testing::Test {
 protected:
  PlannedSizes() {
    folder_.file("models/small/config.json", R"({"num_hidden_layers": 5})");
    run_file("");
  }
  /// Two microbatches.
  void run_file(const std::string& pipeline) {
    folder_.file("a.toml",
                 "[model]\nconfig = \"models/small/config.json\"\n[data]\nlengths = [4, 8]\n[train]\nsteps = 5\n"
                 "[pipeline]\n" +
                     pipeline);
  }
  SweepPlan plan_of(const std::string& text) { return make_plan(read_sweep_file(folder_.file("sweep.toml", text))); }
  std::string refusal_of(const std::string& text) {
    return error_of<InputError>([&] { plan_of(text); });
  }
  SweepPlan plan(const std::string& rest) { return plan_of("run = [\"a.toml\"]\n" + rest); }
  std::string refusal(const std::string& rest) { return refusal_of("run = [\"a.toml\"]\n" + rest); }
  TemporaryFolder folder_;
};

TEST_F(PlannedSizes, LengthsAreRepeatedUntilTheScheduleFits) {
  const auto made = plan("world_sizes = [1, 2, 8, 9]\nin_turn = [\"dualpipe-v\"]\n");

  ASSERT_THAT(made.cells, SizeIs(3));
  EXPECT_THAT(made.cells[0].changes.lengths, IsEmpty()) << "two microbatches a rank are enough";
  EXPECT_THAT(made.cells[1].plan.lengths, ElementsAre(4, 8, 4, 8));
  EXPECT_THAT(made.cells[2].plan.lengths, SizeIs(16)) << "eight times";
  EXPECT_THAT(made.not_applicable, ElementsAre(HasSubstr("-w9: "))) << "nine times would be too many";
}

TEST_F(PlannedSizes, ChunksOfTheRunFileAreTheCells) {
  run_file("chunks = 3\n");

  const auto made = plan("world_sizes = [2]\nschedules = [\"interleaved-1f1b\"]\n");

  EXPECT_EQ(made.cells.at(0).placement.chunks_per_rank, 3);
  run_file("");
  EXPECT_EQ(plan("world_sizes = [2]\nschedules = [\"interleaved-1f1b\"]\n").cells.at(0).placement.chunks_per_rank, 2);
}

TEST_F(PlannedSizes, ABalanceIsAcceptedIfTheModelsLayersAreUnknown) {
  folder_.file("models/small/config.json", "{}");
  run_file("balance = [2, 7]\n");

  EXPECT_THAT(plan("world_sizes = [2]\n").cells.at(0).plan.balance, ElementsAre(2, 7));
}

// Or the first part would fail when it is run, and a list of too few numbers be read beyond its end.
TEST_F(PlannedSizes, ABalanceMustFitBothPartsOfAResumedRun) {
  run_file("balance = [2, 3]\n");
  const auto begun_on = [](int ranks) {
    return "[[cell]]\nrun = \"a.toml\"\nresume_at = 1\nresume_world = 2\nworld_size = " + std::to_string(ranks) + "\n";
  };
  for (const int ranks : {1, 3})
    EXPECT_THAT(refusal("world_sizes = [2]\n" + begun_on(ranks)), HasSubstr("balance 2-3 has 2 stages")) << ranks;
  EXPECT_THAT(plan("world_sizes = [2]\n" + begun_on(2)).cells, SizeIs(2));
}

TEST_F(PlannedSizes, ImpossibleSizesAreRefusedWithTheirPlace) {
  run_file("balance = [2, 7]\n");
  EXPECT_THAT(refusal("world_sizes = [2]\n"), AllOf(HasSubstr("sweep.toml, run "), HasSubstr("a.toml: balance 2-7")));
  EXPECT_THAT(refusal("world_sizes = [2]\nin_turn = [\"afab\"]\n"), HasSubstr("sweep.toml, in_turn afab: balance 2-7"));
}

TEST_F(PlannedSizes, SelectedCasesShareTheirReference) {
  const auto made = plan("world_sizes = [1, 2, 3]\nschedules = [\"1f1b\"]\n");

  const auto selected = select_cells(made, {"a-1f1b-w1", "a-1f1b-w3"});

  EXPECT_THAT(selected.references, SizeIs(1));
  ASSERT_THAT(selected.cells, SizeIs(2));
  EXPECT_EQ(selected.cells[1].reference, 0U);
}

TEST_F(PlannedSizes, AnEmptyShardIsRefused) {
  const auto made = plan("world_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");

  EXPECT_THAT(select_shard(made, {2, 3}).cells, SizeIs(1));
  EXPECT_THAT(error_of<InputError>([&] {
                select_shard(made, {3, 3});
              }),
              HasSubstr("--shard 3/3: is empty; the sweep has 2 cases"));
}

/// The lists are of 2 ranks and 2 microbatches, as a.toml has.
class FilesInPlan : public PlannedSizes {
 protected:
  SweepPlan plan(const std::string& text) { return plan_of(text); }
  std::string refusal(const std::string& text) { return refusal_of(text); }
  static constexpr const char* ascending = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
  static constexpr const char* descending = "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n";
  static constexpr const char* each_its_own = "0F0,0F1,0B1,0B0\n1F0,1F1,1I1,1W1,1I0,1W0\n";
  static constexpr const char* mixed = "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B2,1B0,1B1\n";
  static std::string matrix(const std::string& schedules, const std::string& worlds = "[1, 2]") {
    return "run = [\"a.toml\"]\nworld_sizes = " + worlds + "\nschedules = [" + schedules + "]\n";
  }
};

TEST_F(FilesInPlan, AFileIsUsedForTheWorldSizeOfItsRows) {
  const auto path = folder_.file("lists/mine.csv", ascending);

  const auto made = plan(matrix("\"1f1b\", \"lists/mine.csv\""));

  ASSERT_THAT(made.cells, SizeIs(3));
  EXPECT_EQ(made.cells[2].plan.id, "a-mine.csv-w2");
  ASSERT_THAT(made.not_applicable, SizeIs(1));
  EXPECT_THAT(made.not_applicable[0], AllOf(HasSubstr("a-mine.csv-w1: "), HasSubstr("has rows for 2 ranks")));
  EXPECT_THAT(made.references, SizeIs(1)) << "its order of summing is that of all";
  EXPECT_EQ(made.cells[2].schedule, path.string());
  EXPECT_EQ(made.cells[2].plan.schedule, "mine.csv");
  EXPECT_EQ(made.cells[2].plan.schedule_csv, ascending);
  EXPECT_EQ(made.cells[0].plan.schedule_csv, "");
}

TEST_F(FilesInPlan, EachOrderOfSummingHasItsOwnReference) {
  folder_.file("up.csv", ascending);
  folder_.file("down.csv", descending);
  folder_.file("down-too.csv", each_its_own);  // another list, the same order

  const auto made = plan(matrix("\"up.csv\", \"down.csv\", \"down-too.csv\"", "[2]"));

  ASSERT_THAT(made.references, SizeIs(2));
  EXPECT_EQ(made.references[0].accumulation, "");
  EXPECT_THAT(made.references[1].accumulation,
              StartsWith("unit,microbatch\nembed_tokens,1\nembed_tokens,0\nlayers.0,1\n"));
  EXPECT_THAT(made.references[1].accumulation, EndsWith("norm,1\nnorm,0\nlm_head,1\nlm_head,0\n"));
  EXPECT_THAT(made.references[1].id, StartsWith("a-order-"));
  EXPECT_EQ(made.cells[0].reference, 0u);
  EXPECT_EQ(made.cells[1].reference, 1u);
  EXPECT_EQ(made.cells[2].reference, 1u);
}

TEST_F(FilesInPlan, StagesWithDifferentOrdersFollowThePartition) {
  folder_.file("mixed.csv", mixed);
  const auto planned = [&](const std::string& more) {
    return plan("[[cell]]\nrun = \"a.toml\"\nworld_size = 2\nschedule = \"mixed.csv\"\nlengths = [2, 3, 4]\n" + more);
  };
  const std::string up = ",0\nlayers.2,1\nlayers.2,2\n", own = ",2\nlayers.2,0\nlayers.2,1\n";

  EXPECT_THAT(planned("").references[0].accumulation, HasSubstr("layers.2" + up)) << "3 and 2 layers";
  EXPECT_THAT(planned("balance = [2, 3]").references[0].accumulation, HasSubstr("layers.2" + own));
  EXPECT_THAT(error_of<InputError>([&] { planned("partition = \"cost\""); }), HasSubstr("give a balance"));
}

TEST_F(FilesInPlan, BadFilesAreRefusedBeforeAnythingRuns) {
  folder_.file("circle.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_THAT(refusal(matrix("\"circle.csv\"")), AllOf(HasSubstr("circle.csv: rank 0"), HasSubstr("in a cycle")));
  EXPECT_THAT(refusal(matrix("\"none.csv\"")), HasSubstr("no such schedule file"));
  folder_.file("mine.csv", ascending);
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nworld_size = 3\nschedule = \"mine.csv\"\n"),
              HasSubstr("start it with a world size of 2"));
  EXPECT_THAT(refusal(matrix("\"mine.csv\"", "[1, 4]")), HasSubstr("no case of the matrix is possible"));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [2]\nin_turn = [\"mine.csv\"]\n"),
              HasSubstr("is unknown; give one of"));
}

TEST_F(FilesInPlan, ARunFilesListIsReadFromItsFolder) {
  folder_.file("own.csv", "0F0,0F1,0I0,0W0,0I1,0W1\n");
  run_file("schedule = \"own.csv\"\n");

  const auto made = plan("run = [\"a.toml\"]\nworld_sizes = [1]\n");

  EXPECT_EQ(made.cells[0].plan.schedule_csv, "0F0,0F1,0I0,0W0,0I1,0W1\n");
}

}  // namespace
}  // namespace plumbline::testing
