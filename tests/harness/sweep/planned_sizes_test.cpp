// SPDX-License-Identifier: BSD-3-Clause
// Sizes, lists and orders of sums in a plan's cases.
#include <gmock/gmock.h>

#include "harness/sweep/sweep_plan.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  SweepPlan plan(const std::string& text) {
    return make_plan(read_sweep_file(folder_.file("sweep.toml", "run = [\"a.toml\"]\n" + text)));
  }
  std::string refusal(const std::string& text) {
    return error_of<InputError>([&] { plan(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(PlannedSizes, LengthsAreRepeatedUntilAScheduleInTurnCanHaveThem) {
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

// What the run file says of its own list says nothing of another that tells its own.
TEST_F(PlannedSizes, TheDialectIsOfTheRunFilesOwnListAndOfThoseThatTellNone) {
  folder_.file("theirs.csv", "0F0,0F1,0B0,0W0,0B1,0W1\n");
  folder_.file("ours.csv", "0F0,0F1,0B0,0B1\n");
  run_file("schedule = \"theirs.csv\"\nschedule_dialect = \"torch-old\"\n");

  folder_.file("also-theirs.csv", "0F0,0B0,0W0,0F1,0B1,0W1\n");

  const auto made = plan("world_sizes = [1]\nschedules = [\"theirs.csv\", \"ours.csv\", \"also-theirs.csv\"]\n");

  ASSERT_THAT(made.cells, SizeIs(3));
  EXPECT_EQ(made.cells[2].plan.schedule_csv, "0F0,0I0,0W0,0F1,0I1,0W1\n");
  EXPECT_EQ(made.cells[0].plan.schedule_csv, "0F0,0F1,0I0,0W0,0I1,0W1\n");
  EXPECT_EQ(made.cells[1].plan.schedule_csv, "0F0,0F1,0B0,0B1\n");
}

TEST_F(PlannedSizes, ABalanceIsTakenAtItsWordWhereTheModelDoesNotSayItsLayers) {
  folder_.file("models/small/config.json", "{}");
  run_file("balance = [2, 7]\n");

  EXPECT_THAT(plan("world_sizes = [2]\n").cells.at(0).plan.balance, ElementsAre(2, 7));
}

// Or the first part would fail when it is run, and a list of too few numbers be read beyond its end.
TEST_F(PlannedSizes, ABalanceMustFitBothPartsOfARunThatIsGoneOnWith) {
  run_file("balance = [2, 3]\n");
  const auto begun_on = [](int ranks) {
    return "[[cell]]\nrun = \"a.toml\"\nresume_at = 1\nresume_world = 2\nworld_size = " + std::to_string(ranks) + "\n";
  };
  for (const int ranks : {1, 3})
    EXPECT_THAT(refusal("world_sizes = [2]\n" + begun_on(ranks)), HasSubstr("balance 2-3 has 2 stages")) << ranks;
  EXPECT_THAT(plan("world_sizes = [2]\n" + begun_on(2)).cells, SizeIs(2));
}

TEST_F(PlannedSizes, WhatCannotBeIsToldWithWhereItStands) {
  run_file("balance = [2, 7]\n");
  EXPECT_THAT(refusal("world_sizes = [2]\n"), AllOf(HasSubstr("sweep.toml, run "), HasSubstr("a.toml: balance 2-7")));
  EXPECT_THAT(refusal("world_sizes = [2]\nin_turn = [\"afab\"]\n"), HasSubstr("sweep.toml, in_turn afab: balance 2-7"));
}

TEST_F(PlannedSizes, CellsOfOneReferenceShareItWhereSomeAreSelected) {
  const auto made = plan("world_sizes = [1, 2, 3]\nschedules = [\"1f1b\"]\n");

  const auto selected = select_cells(made, {"a-1f1b-w1", "a-1f1b-w3"});

  EXPECT_THAT(selected.references, SizeIs(1));
  ASSERT_THAT(selected.cells, SizeIs(2));
  EXPECT_EQ(selected.cells[1].reference, 0U);
}

TEST_F(PlannedSizes, AShardOfMoreThanThereAreCellsIsRefused) {
  const auto made = plan("world_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");

  EXPECT_THAT(select_shard(made, {2, 3}).cells, SizeIs(1));
  EXPECT_THAT(error_of<InputError>([&] {
                select_shard(made, {3, 3});
              }),
              HasSubstr("--shard 3/3: is empty; the sweep has 2 cases"));
}

// Of each layer: attention 4 x 16384^2, three norms and the MLP of none; the dumps of one step hold gradients,
// parameters and two states, and the start its parameters; all of it of four bytes, and twice.
TEST_F(PlannedSizes, DumpsOfAnAuditThatAreTooLargeAreToldInGib) {
  folder_.file("models/small/config.json", R"({"num_hidden_layers": 1, "hidden_size": 8192})");
  folder_.file("a.toml", "[model]\nconfig = \"models/small/config.json\"\n[data]\nlengths = [4]\n[train]\nsteps = 1\n");

  const auto made = plan("audit = true\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");

  EXPECT_THAT(made.not_applicable, ElementsAre(HasSubstr("would take about 10.0 GiB; the limit is 1 GiB")));
}

}  // namespace
}  // namespace plumbline::testing
