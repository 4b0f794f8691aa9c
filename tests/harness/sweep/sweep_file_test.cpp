// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string matrix = "run = [\"a.toml\"]\nworld_sizes = [1, 2]\n";
const std::string cell = "[[cell]]\nrun = \"a.toml\"\nworld_size = 3\n";

class ReadSweepFile : public ::testing::Test {
 protected:
  ReadSweepFile() { folder_.file("a.toml", ""); }
  SweepFile read(const std::string& text) { return read_sweep_file(folder_.file("sweep.toml", text)); }
  std::string refusal(const std::string& text) {
    return error_of<InputError>([&] { read(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(ReadSweepFile, EveryKeyIsTaken) {
  const auto sweep = read(R"(
run = ["a.toml"]
world_sizes = [1, 4]
schedules = ["afab", "1f1b"]
optimizers = ["sgd"]
checks = ["completion", "loss"]
repeat = ["a-sgd-1f1b-w4"]
clipping = true
bench = true
launcher = "srun -n {world}"
device = "cuda"
time_limit_s = 2.5
[[cell]]
run = "a.toml"
world_size = 3
schedule = "1f1b"
optimizer = "adamw"
balance = [2, 0, 3]
lengths = [8, [4, 2]]
process_memory_limit = 0.6
)");

  EXPECT_EQ(sweep.name, folder_.path().filename().string() + "/sweep");
  EXPECT_EQ(sweep.id, "sweep");
  EXPECT_THAT(sweep.runs, ElementsAre(folder_ / "a.toml"));
  EXPECT_THAT(sweep.world_sizes, ElementsAre(1, 4));
  EXPECT_THAT(sweep.schedules, ElementsAre("afab", "1f1b"));
  EXPECT_THAT(sweep.optimizers, ElementsAre("sgd"));
  EXPECT_THAT(sweep.checks, ElementsAre("completion", "loss"));
  EXPECT_THAT(sweep.repeat, ElementsAre("a-sgd-1f1b-w4"));
  EXPECT_TRUE(sweep.clipping);
  EXPECT_TRUE(sweep.bench);
  EXPECT_FALSE(sweep.audit);
  EXPECT_TRUE(sweep.own_launcher);
  EXPECT_EQ(sweep.launcher, "srun -n {world}");
  EXPECT_EQ(sweep.device, "cuda");
  EXPECT_EQ(sweep.time_limit_s, 2.5);
  ASSERT_EQ(sweep.cells.size(), 1u);
  EXPECT_EQ(sweep.cells[0].world_size, 3);
  EXPECT_EQ(sweep.cells[0].schedule, "1f1b");
  EXPECT_EQ(sweep.cells[0].changes.optimizer, "adamw");
  EXPECT_THAT(sweep.cells[0].changes.balance, ElementsAre(2, 0, 3));
  EXPECT_THAT(sweep.cells[0].changes.lengths, ElementsAre(ElementsAre(8), ElementsAre(4, 2)));
  EXPECT_THAT(sweep.notes, ElementsAre(HasSubstr("process_memory_limit: is ignored")));
  EXPECT_THAT(sweep.cells[0].where, AllOf(HasSubstr("sweep.toml:14:7"), HasSubstr("cell[0].run")));
}

TEST_F(ReadSweepFile, SchedulesInTurnAuditAndPartitionAreTaken) {
  const auto sweep = read("audit = true\nin_turn = [\"zb-h1\", \"afab\"]\nchecks = [\"audit\"]\n" + matrix + cell +
                          "partition = \"cost\"\n");

  EXPECT_TRUE(sweep.audit);
  EXPECT_THAT(sweep.in_turn, ElementsAre("zb-h1", "afab"));
  EXPECT_EQ(sweep.cells[0].changes.partition, "cost");
}

TEST_F(ReadSweepFile, GranularitiesAreAnAxisOrACells) {
  const auto sweep = read("granularities = [\"layer\", \"half\"]\n" + matrix + cell + "granularity = \"half\"\n");

  EXPECT_THAT(sweep.granularities, ElementsAre("layer", "half"));
  EXPECT_EQ(sweep.cells[0].changes.granularity, "half");
  EXPECT_THAT(refusal(matrix + cell + "granularity = \"halves\"\n"), HasSubstr("Known are layer, half"));
  EXPECT_THAT(refusal("granularities = [\"third\"]\n" + matrix), HasSubstr("Known are layer, half"));
  EXPECT_THAT(refusal("granularities = [\"half\"]\n" + cell), HasSubstr("has no effect without run"));
}

TEST_F(ReadSweepFile, DefaultsNeedOnlyRunsAndWorldSizes) {
  const auto sweep = read(matrix);

  EXPECT_THAT(sweep.checks, IsEmpty());
  EXPECT_FALSE(sweep.clipping);
  EXPECT_FALSE(sweep.bench);
  EXPECT_FALSE(sweep.audit);
  EXPECT_FALSE(sweep.own_launcher) << "its transport is then known, and asked for";
  EXPECT_EQ(sweep.time_limit_s, 300);
  EXPECT_THAT(sweep.launcher, AllOf(HasSubstr("mpirun"), HasSubstr("{world}")));
  EXPECT_EQ(sweep.device, "cpu");
}

TEST_F(ReadSweepFile, ExtraCellsAloneAreASweep) {
  EXPECT_EQ(read(cell).cells.size(), 1u);
}

TEST_F(ReadSweepFile, UnknownKeyIsNamedWithTheNearest) {
  EXPECT_THAT(refusal(matrix + "schedule = [\"afab\"]\n"), AllOf(HasSubstr("schedule"), HasSubstr("schedules")));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_size = [1]\n"), HasSubstr("did you mean world_sizes"));
  EXPECT_THAT(refusal(matrix + cell + "ballance = [1, 1, 1]\n"), AllOf(HasSubstr("ballance"), HasSubstr("balance")));
}

TEST_F(ReadSweepFile, WorldSizeOfZeroIsRefused) {
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [1, 0]\n"),
              AllOf(HasSubstr("sweep.toml:2"), HasSubstr("world_sizes"), HasSubstr("0 is not a world size")));
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nworld_size = 0\n"), HasSubstr("0 is not a world size"));
}

TEST_F(ReadSweepFile, ReplicasAreTakenFromOneOn) {
  EXPECT_THAT(read(matrix + "replicas = [2, 1]\n").replicas, ElementsAre(2, 1));
  EXPECT_EQ(read(cell + "replicas = 2\n").cells.front().changes.replicas, 2);
  EXPECT_THAT(refusal(matrix + "replicas = [0]\n"), HasSubstr("0 is not a number of pipelines"));
  EXPECT_THAT(refusal(matrix + "replicas = [2, 2]\n"), HasSubstr("holds the same value twice"));
}

TEST_F(ReadSweepFile, TheLargestWorldSizeIsTakenAndNoneAboveIt) {
  const std::string largest = std::to_string(largest_world), more = std::to_string(largest_world + 1);

  EXPECT_THAT(read("run = [\"a.toml\"]\nworld_sizes = [" + largest + "]\n").world_sizes, ElementsAre(largest_world));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [" + more + "]\n"), HasSubstr(more + " is not a world size"));
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nworld_size = " + more + "\n"), HasSubstr("is not a world size"));
}

TEST_F(ReadSweepFile, UnknownWordsAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(refusal(matrix + "schedules = [\"1f2b\"]\n"), AllOf(HasSubstr("1f2b"), HasSubstr("1f1b")));
  EXPECT_THAT(refusal(matrix + "optimizers = [\"adam\"]\n"), AllOf(HasSubstr("adam"), HasSubstr("adamw")));
  EXPECT_THAT(refusal(matrix + "checks = [\"boundary\"]\n"), AllOf(HasSubstr("boundary"), HasSubstr("boundaries")));
  EXPECT_THAT(refusal(matrix + cell + "schedule = \"gpipes\"\n"), HasSubstr("gpipes"));
  EXPECT_THAT(refusal(matrix + cell + "partition = \"costs\"\n"), HasSubstr("costs"));
  EXPECT_THAT(refusal(matrix + cell + "optimizer = \"adam\"\n"), HasSubstr("\"adam\" is not known"));
  EXPECT_THAT(refusal(matrix + "in_turn = [\"mine.csv\"]\n"), HasSubstr("\"mine.csv\" is not known"));
}

TEST_F(ReadSweepFile, AuditedValuesNeedTheCheckThatLooksAtThem) {
  EXPECT_THAT(refusal(matrix + "audit = true\nchecks = [\"loss\"]\n"),
              AllOf(HasSubstr("key audit"), HasSubstr("checks omits that check")));
  EXPECT_TRUE(read(matrix + "audit = true\n").audit) << "without checks, all are asked for";
}

TEST_F(ReadSweepFile, NothingToRunIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("nothing to run"));
  EXPECT_THAT(refusal("run = []\nworld_sizes = []\n"), HasSubstr("nothing to run"));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\n"), HasSubstr("world_sizes"));
  EXPECT_THAT(refusal("world_sizes = [1]\n"), HasSubstr("key run"));
  EXPECT_THAT(refusal(matrix + "schedules = []\n"), HasSubstr("schedules"));
  for (const std::string key : {"schedules = [\"afab\"]\n", "in_turn = [\"afab\"]\n", "optimizers = [\"sgd\"]\n"}) {
    EXPECT_THAT(refusal(key + cell), AllOf(HasSubstr(key.substr(0, key.find(' '))), HasSubstr("no effect"))) << key;
  }
  for (const std::string key : {"schedules", "in_turn", "optimizers", "checks"}) {
    EXPECT_THAT(refusal(matrix + key + " = []\n"), AllOf(HasSubstr(key), HasSubstr("is empty"))) << key;
  }
  EXPECT_THAT(refusal("world_sizes = [1]\n" + cell), HasSubstr("key run")) << "cells do not make a matrix whole";
  EXPECT_THAT(refusal("run = [\"a.toml\"]\n" + cell), HasSubstr("key world_sizes"));
}

// Nothing is longest among no rows, and lengths of the second microbatch count as those of the first do.
TEST_F(ReadSweepFile, AMicrobatchWithoutRowsIsRefused) {
  EXPECT_THAT(refusal(cell + "lengths = [4, []]\n"), HasSubstr("a microbatch without rows"));
}

TEST_F(ReadSweepFile, MissingRunFileIsNamedWithItsPath) {
  EXPECT_THAT(refusal("run = [\"b.toml\"]\nworld_sizes = [1]\n"), HasSubstr((folder_ / "b.toml").string()));
}

TEST_F(ReadSweepFile, BalanceOfAnotherWorldSizeIsRefused) {
  EXPECT_THAT(refusal(cell + "balance = [1, 1]\n"), AllOf(HasSubstr("2 stages"), HasSubstr("world size of 3")));
  EXPECT_THAT(refusal(cell + "balance = [-1, 1, 2]\n"), HasSubstr("-1 layers"));
  EXPECT_THAT(refusal(cell + "balance = [1, 1, -2]\n"), HasSubstr("-2 layers"));
  EXPECT_THAT(read(cell + "balance = [1, 1, " + std::to_string(most_layers) + "]\n").cells[0].changes.balance,
              ElementsAre(1, 1, most_layers));
  const std::string more = std::to_string(most_layers + 1);
  EXPECT_THAT(refusal(cell + "balance = [1, 1, " + more + "]\n"), HasSubstr(more + " layers"));
  EXPECT_THAT(refusal(cell + "balance = [1, 1, 1]\npartition = \"cost\"\n"), HasSubstr("exclude each other"));
}

TEST_F(ReadSweepFile, ACellThatIsGoneOnWithIsReadWithItsFirstPart) {
  const auto sweep = read(cell + "schedule = \"afab\"\nresume_at = 2\nresume_world = 5\nresume_schedule = \"1f1b\"\n" +
                          cell + "resume_at = 1\n");

  EXPECT_EQ(sweep.cells[0].world_size, 5);
  EXPECT_EQ(sweep.cells[0].schedule, "1f1b");
  EXPECT_EQ(sweep.cells[0].resumes->steps, 2);
  EXPECT_EQ(sweep.cells[0].resumes->world_size, 3);
  EXPECT_EQ(sweep.cells[0].resumes->schedule, "afab");
  EXPECT_EQ(sweep.cells[1].world_size, 3);
  EXPECT_EQ(sweep.cells[1].resumes->world_size, 3);
  EXPECT_FALSE(sweep.cells[1].resumes->schedule);
}

TEST_F(ReadSweepFile, WhatCannotBeGoneOnWithIsRefused) {
  EXPECT_THAT(refusal(cell + "resume_at = 0\n"), HasSubstr("1 or more"));
  EXPECT_THAT(refusal(cell + "resume_world = 2\n"), HasSubstr("has no effect without resume_at"));
  EXPECT_THAT(refusal(cell + "resume_schedule = \"afab\"\n"), HasSubstr("has no effect without resume_at"));
  EXPECT_THAT(refusal(cell + "resume_at = 1\nresume_world = 0\n"), HasSubstr("0 is not a world size"));
  EXPECT_THAT(refusal(cell + "resume_at = 1\nresume_schedule = \"1f2b\"\n"), HasSubstr("is not known"));
  EXPECT_THAT(refusal(cell + "resume_at = 1\nbalance = [1, 1, 1]\n"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("tier = \"calibrated\"\n" + cell + "resume_at = 1\n"), HasSubstr("needs tier = \"bits\""));
  EXPECT_THAT(refusal("tier = \"calibrated\"\n" + cell + cell + "resume_at = 1\n"),
              AllOf(HasSubstr("cell[1].run"), HasSubstr("needs tier = \"bits\"")));
  EXPECT_EQ(read("tier = \"calibrated\"\n" + cell).cells.size(), 1U);
}

TEST_F(ReadSweepFile, AMisspeltKeyOfACellIsNotToldAsAMissingOne) {
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nwrold_size = 3\n"),
              AllOf(HasSubstr("unknown key cell[0].wrold_size"), HasSubstr("did you mean world_size?")));
}

TEST_F(ReadSweepFile, AnUnknownDeviceIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(refusal(matrix + "device = \"tpu\"\n"), AllOf(HasSubstr("\"tpu\" is unknown"), HasSubstr("cpu or cuda")));
}

TEST_F(ReadSweepFile, LimitsAreTakenWhereAskedForAlone) {
  const auto calibrated = read(matrix + "tier = \"calibrated\"\nmixed_gpus = true\n");

  EXPECT_TRUE(calibrated.calibrated);
  EXPECT_TRUE(calibrated.mixed_gpus);
  EXPECT_FALSE(read(matrix).calibrated);
  EXPECT_FALSE(read(matrix + "tier = \"bits\"\n").calibrated);
  EXPECT_THAT(refusal(matrix + "tier = \"loose\"\n"), HasSubstr("bits (the default) or calibrated"));
  EXPECT_THAT(refusal(matrix + "mixed_gpus = true\n"), HasSubstr("add tier = \"calibrated\""));
}

TEST_F(ReadSweepFile, LauncherWithoutAPlaceForTheWorldSizeIsRefused) {
  EXPECT_THAT(refusal(matrix + "launcher = \"mpirun -n 4\"\n"), HasSubstr("{world}"));
}

TEST_F(ReadSweepFile, LimitsThatNothingCouldMeetAreRefused) {
  EXPECT_THAT(refusal(matrix + "time_limit_s = 0\n"), HasSubstr("time_limit_s"));
  EXPECT_THAT(refusal(matrix + "time_limit_s = nan\n"), HasSubstr("time_limit_s"));
  EXPECT_THAT(refusal(matrix + "time_limit_s = 1000001\n"), HasSubstr("time_limit_s"));
  EXPECT_EQ(read(matrix + "time_limit_s = 1000000\n").time_limit_s, 1e6);
}

TEST_F(ReadSweepFile, SameValueTwiceIsRefused) {
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [2, 2]\n"), HasSubstr("twice"));
  EXPECT_THAT(refusal("run = [\"a.toml\", \"./a.toml\"]\nworld_sizes = [2]\n"), HasSubstr("twice"));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [2, 1, 2]\n"), HasSubstr("twice")) << "not side by side";
  for (const std::string values :
       {"schedules = [\"afab\", \"afab\"]", "in_turn = [\"afab\", \"afab\"]", "optimizers = [\"sgd\", \"sgd\"]",
        "checks = [\"loss\", \"loss\"]", "repeat = [\"a-1f1b-w1\", \"a-1f1b-w1\"]"}) {
    EXPECT_THAT(refusal(matrix + values + "\n"), HasSubstr("the same value twice")) << values;
  }
}

TEST_F(ReadSweepFile, MissingCellKeyIsNamed) {
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\n"), HasSubstr("world_size: is missing"));
  EXPECT_THAT(refusal("[[cell]]\nworld_size = 2\n"), HasSubstr("run: is missing"));
}

}  // namespace
}  // namespace plumbline::testing
