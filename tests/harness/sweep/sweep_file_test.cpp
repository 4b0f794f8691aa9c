// SPDX-License-Identifier: BSD-3-Clause
// Sweep files that are read, and those that are refused: tests/approved/sweep-files.txt and command-sweeps.txt.
#include "harness/sweep/sweep_file.hpp"

#include "harness/sweep/sweep_keys.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/approved.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

class ReadSweepFile : public ::testing::Test {
 protected:
  ReadSweepFile() { folder_.file("a.toml", ""); }
  SweepFile read(const std::string& text) { return read_sweep_file(folder_.file("sweep.toml", text)); }
  /// The message that refuses the file, or "accepted".
  std::string reading(const std::string& name, const std::string& text) {
    try {
      const SweepFile sweep = read_sweep_file(folder_.file(name, text));
      if (sweep.commands) make_plan(sweep);
    } catch (const InputError& error) {
      return in_folder(folder_, error.what());
    }
    return "accepted";
  }
  TemporaryFolder folder_;
};

TEST_F(ReadSweepFile, EveryKeyIsRead) {
  const auto sweep = read(R"(
run = ["a.toml"]
world_sizes = [1, 4]
schedules = ["afab", "1f1b"]
in_turn = ["zb-h1"]
optimizers = ["sgd"]
replicas = [2, 1]
checks = ["completion", "loss"]
accept_missing = ["buffers", "loss"]
commit = "my change"
repeat = ["a-sgd-1f1b-w4"]
launcher = "srun -n {world}"
device = "cuda"
tier = "calibrated"
mixed_gpus = true
time_limit_s = 2.5
[[cell]]
run = "a.toml"
world_size = 3
schedule = "1f1b"
optimizer = "adamw"
balance = [2, 0, 3]
lengths = [8, [4, 2]]
replicas = 2
)");

  EXPECT_EQ(sweep.name, folder_.path().filename().string() + "/sweep");
  EXPECT_EQ(sweep.id, "sweep");
  EXPECT_THAT(sweep.runs, ElementsAre(folder_ / "a.toml"));
  EXPECT_THAT(sweep.world_sizes, ElementsAre(1, 4));
  EXPECT_THAT(sweep.schedules, ElementsAre("afab", "1f1b"));
  EXPECT_THAT(sweep.in_turn, ElementsAre("zb-h1"));
  EXPECT_THAT(sweep.optimizers, ElementsAre("sgd"));
  EXPECT_THAT(sweep.replicas, ElementsAre(2, 1));
  EXPECT_THAT(sweep.checks, ElementsAre("completion", "loss"));
  EXPECT_THAT(sweep.accept_missing, ElementsAre("buffers", "loss"));
  EXPECT_EQ(sweep.commit, "my change");
  EXPECT_THAT(sweep.repeat, ElementsAre("a-sgd-1f1b-w4"));
  EXPECT_TRUE(sweep.own_launcher);
  EXPECT_EQ(sweep.launcher, "srun -n {world}");
  EXPECT_EQ(sweep.device, "cuda");
  EXPECT_TRUE(sweep.calibrated);
  EXPECT_TRUE(sweep.mixed_gpus);
  EXPECT_EQ(sweep.time_limit_s, 2.5);
  ASSERT_EQ(sweep.cells.size(), 1u);
  EXPECT_EQ(sweep.cells[0].world_size, 3);
  EXPECT_EQ(sweep.cells[0].schedule, "1f1b");
  EXPECT_EQ(sweep.cells[0].changes.optimizer, "adamw");
  EXPECT_EQ(sweep.cells[0].changes.replicas, 2);
  EXPECT_THAT(sweep.cells[0].changes.balance, ElementsAre(2, 0, 3));
  EXPECT_THAT(sweep.cells[0].changes.lengths, ElementsAre(ElementsAre(8), ElementsAre(4, 2)));
  EXPECT_THAT(sweep.cells[0].where, AllOf(HasSubstr("sweep.toml:18:7"), HasSubstr("cell[0].run")));
}

TEST_F(ReadSweepFile, DefaultsNeedOnlyRunsAndWorldSizes) {
  const auto sweep = read("run = [\"a.toml\"]\nworld_sizes = [1, 2]\n");

  EXPECT_THAT(sweep.checks, IsEmpty());
  EXPECT_FALSE(sweep.clipping);
  EXPECT_FALSE(sweep.bench);
  EXPECT_FALSE(sweep.calibrated);
  EXPECT_FALSE(sweep.own_launcher) << "its transport is then known, and requested";
  EXPECT_EQ(sweep.time_limit_s, 300);
  EXPECT_THAT(sweep.launcher, AllOf(HasSubstr("mpirun"), HasSubstr("{world}")));
  EXPECT_EQ(sweep.device, "cpu");
}

TEST(SweepFileSchema, HasTheReadersKeys) {
  expect_approved("../../docs/schemas/sweep.schema.json", json_text(sweep_file_schema(), 2) + "\n");
}

TEST_F(ReadSweepFile, RefusalsAreAsApproved) {
  EXPECT_THAT(reading("sweep.toml", ""), HasSubstr("nothing to run"));
  expect_answers("sweep-files.txt", [&](const std::string& input) { return reading("sweep.toml", input); });
}

TEST_F(ReadSweepFile, RefusedCommandsAreAsApproved) {
  program(folder_, "train.sh", "exit 0\n");
  const std::string commands =
      "reference = [\"./train.sh\", \"{record}\"]\ncandidate = [\"./train.sh\", \"{record}\", \"{world}\"]\n";
  EXPECT_THAT(reading("theirs.toml", commands), HasSubstr("nothing to run"));
  expect_answers("command-sweeps.txt", [&](const std::string& input) {
    const bool alone = input.starts_with("-commands\n");
    return reading("theirs.toml", alone ? input.substr(input.find('\n') + 1) : commands + input);
  });
}

}  // namespace
}  // namespace plumbline::testing
