// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_file.hpp"

#include "support/error.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

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
accept_missing = ["buffers", "loss"]
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
  EXPECT_THAT(sweep.accept_missing, ElementsAre("buffers", "loss"));
  EXPECT_THAT(sweep.repeat, ElementsAre("a-sgd-1f1b-w4"));
  EXPECT_TRUE(sweep.clipping);
  EXPECT_TRUE(sweep.bench);
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
  EXPECT_THAT(sweep.cells[0].where, AllOf(HasSubstr("sweep.toml:15:7"), HasSubstr("cell[0].run")));
}

TEST_F(ReadSweepFile, SchedulesInTurnAndPartitionAreTaken) {
  const auto sweep =
      read("in_turn = [\"zb-h1\", \"afab\"]\nchecks = [\"loss\"]\n" + matrix + cell + "partition = \"cost\"\n");

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
  EXPECT_FALSE(sweep.own_launcher) << "its transport is then known, and asked for";
  EXPECT_EQ(sweep.time_limit_s, 300);
  EXPECT_THAT(sweep.launcher, AllOf(HasSubstr("mpirun"), HasSubstr("{world}")));
  EXPECT_EQ(sweep.device, "cpu");
}

TEST_F(ReadSweepFile, WhatCannotBeMeantIsRefusedWithWhatCan) {
  const std::string run = "run = [\"a.toml\"]\n", one_cell = "[[cell]]\nrun = \"a.toml\"\n";
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      // Keys, with the nearest.
      {matrix + "schedule = [\"afab\"]\n", {"schedule", "schedules"}},
      {run + "world_size = [1]\n", {"did you mean world_sizes"}},
      {matrix + cell + "ballance = [1, 1, 1]\n", {"ballance", "balance"}},
      {one_cell + "wrold_size = 3\n", {"unknown key cell[0].wrold_size", "did you mean world_size?"}},
      {one_cell, {"world_size: is missing"}},
      {"[[cell]]\nworld_size = 2\n", {"run: is missing"}},
      // Words, with the known ones.
      {matrix + "schedules = [\"1f2b\"]\n", {"1f2b", "1f1b"}},
      {matrix + "optimizers = [\"adam\"]\n", {"adam", "adamw"}},
      {matrix + "accept_missing = [\"gradient\"]\n", {"accept_missing", "\"gradient\"", "did you mean gradients?"}},
      {matrix + "accept_missing = [\"memory\"]\n", {"data, loss, gradients, parameters, buffers"}},
      {matrix + "checks = [\"boundary\"]\n", {"boundary", "boundaries"}},
      {matrix + cell + "schedule = \"gpipes\"\n", {"gpipes"}},
      {matrix + cell + "partition = \"costs\"\n", {"costs"}},
      {matrix + cell + "optimizer = \"adam\"\n", {"\"adam\" is not known"}},
      {matrix + "in_turn = [\"mine.csv\"]\n", {"\"mine.csv\" is not known"}},
      {matrix + "schedules = [\"InterleavedZeroBubble\"]\n" + cell, {"does not exist here"}},
      {matrix + "device = \"tpu\"\n", {"\"tpu\" is unknown", "cpu or cuda"}},
      {matrix + "launcher = \"mpirun -n 4\"\n", {"{world}"}},
      {"run = [\"b.toml\"]\nworld_sizes = [1]\n", {(folder_ / "b.toml").string()}},
      // Numbers.
      {run + "world_sizes = [1, 0]\n", {"sweep.toml:2", "world_sizes", "0 is not a world size"}},
      {one_cell + "world_size = 0\n", {"0 is not a world size"}},
      {cell + "lengths = [4, []]\n", {"a microbatch without rows"}},
      // The same value twice.
      {run + "world_sizes = [2, 2]\n", {"twice"}},
      {run + "world_sizes = [2, 1, 2]\n", {"twice"}},
      {"run = [\"a.toml\", \"./a.toml\"]\nworld_sizes = [2]\n", {"twice"}},
      {matrix + "schedules = [\"afab\", \"afab\"]\n", {"the same value twice"}},
      {matrix + "in_turn = [\"afab\", \"afab\"]\n", {"the same value twice"}},
      {matrix + "optimizers = [\"sgd\", \"sgd\"]\n", {"the same value twice"}},
      {matrix + "checks = [\"loss\", \"loss\"]\n", {"the same value twice"}},
      {matrix + "repeat = [\"a-1f1b-w1\", \"a-1f1b-w1\"]\n", {"the same value twice"}}};
  for (const auto& [text, words] : cases) {
    const std::string told = refusal(text);
    for (const auto& part : words) EXPECT_THAT(told, HasSubstr(part)) << text;
  }
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
  EXPECT_THAT(refusal(cell + "resume_at = 1\nresume_schedule = \"1f2b\"\n"),
              HasSubstr("schedule \"1f2b\" is unknown; choose one of"));
  EXPECT_THAT(refusal(cell + "resume_at = 1\nbalance = [1, 1, 1]\n"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("tier = \"calibrated\"\n" + cell + "resume_at = 1\n"), HasSubstr("needs tier = \"bits\""));
  EXPECT_THAT(refusal("tier = \"calibrated\"\n" + cell + cell + "resume_at = 1\n"),
              AllOf(HasSubstr("cell[1].run"), HasSubstr("needs tier = \"bits\"")));
  EXPECT_EQ(read("tier = \"calibrated\"\n" + cell).cells.size(), 1U);
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

TEST_F(ReadSweepFile, LimitsThatNothingCouldMeetAreRefused) {
  EXPECT_THAT(refusal(matrix + "time_limit_s = 0\n"), HasSubstr("time_limit_s"));
  EXPECT_THAT(refusal(matrix + "time_limit_s = nan\n"), HasSubstr("time_limit_s"));
  EXPECT_THAT(refusal(matrix + "time_limit_s = 1000001\n"), HasSubstr("time_limit_s"));
  EXPECT_EQ(read(matrix + "time_limit_s = 1000000\n").time_limit_s, 1e6);
}

}  // namespace
}  // namespace plumbline::testing
