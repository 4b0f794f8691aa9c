// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_file.hpp"

#include "harness/sweep/sweep_keys.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/approved.hpp"
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

TEST_F(ReadSweepFile, EveryKeyIsRead) {
  const auto sweep = read(R"(
run = ["a.toml"]
world_sizes = [1, 4]
schedules = ["afab", "1f1b"]
optimizers = ["sgd"]
checks = ["completion", "loss"]
accept_missing = ["buffers", "loss"]
accept_gaps = false
commit = "my change"
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
)");

  EXPECT_EQ(sweep.name, folder_.path().filename().string() + "/sweep");
  EXPECT_EQ(sweep.id, "sweep");
  EXPECT_THAT(sweep.runs, ElementsAre(folder_ / "a.toml"));
  EXPECT_THAT(sweep.world_sizes, ElementsAre(1, 4));
  EXPECT_THAT(sweep.schedules, ElementsAre("afab", "1f1b"));
  EXPECT_THAT(sweep.optimizers, ElementsAre("sgd"));
  EXPECT_THAT(sweep.checks, ElementsAre("completion", "loss"));
  EXPECT_THAT(sweep.accept_missing, ElementsAre("buffers", "loss"));
  EXPECT_FALSE(sweep.accept_gaps);
  EXPECT_EQ(sweep.commit, "my change");
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
  EXPECT_THAT(sweep.cells[0].where, AllOf(HasSubstr("sweep.toml:17:7"), HasSubstr("cell[0].run")));
}

TEST_F(ReadSweepFile, SchedulesInTurnAndPartitionAreRead) {
  const auto sweep =
      read("in_turn = [\"zb-h1\", \"afab\"]\nchecks = [\"loss\"]\n" + matrix + cell + "partition = \"cost\"\n");

  EXPECT_THAT(sweep.in_turn, ElementsAre("zb-h1", "afab"));
  EXPECT_EQ(sweep.cells[0].changes.partition, "cost");
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

TEST(SweepFileSchema, IsThatOfTheReadersKeys) {
  expect_approved("../../docs/schemas/sweep.schema.json", json_text(sweep_file_schema(), 2) + "\n");
}

TEST_F(ReadSweepFile, RefusalsAreAsApproved) {
  EXPECT_THAT(refusal(""), HasSubstr("nothing to run"));
  expect_answers("sweep-files.txt", [&](const std::string& input) { return in_folder(folder_, refusal(input)); });
}

TEST_F(ReadSweepFile, TheLongestTimeLimitIsAccepted) {
  EXPECT_EQ(read(matrix + "time_limit_s = 1000000\n").time_limit_s, 1e6);
}

TEST_F(ReadSweepFile, ReplicasMustBeAtLeastOne) {
  EXPECT_THAT(read(matrix + "replicas = [2, 1]\n").replicas, ElementsAre(2, 1));
  EXPECT_EQ(read(cell + "replicas = 2\n").cells.front().changes.replicas, 2);
}

TEST_F(ReadSweepFile, LargerWorldSizesAreRefused) {
  const std::string largest = std::to_string(largest_world), more = std::to_string(largest_world + 1);

  EXPECT_THAT(read("run = [\"a.toml\"]\nworld_sizes = [" + largest + "]\n").world_sizes, ElementsAre(largest_world));
  EXPECT_THAT(refusal("run = [\"a.toml\"]\nworld_sizes = [" + more + "]\n"),
              HasSubstr("is " + more + "; it must be from 1 to " + largest));
  EXPECT_THAT(refusal("[[cell]]\nrun = \"a.toml\"\nworld_size = " + more + "\n"),
              HasSubstr("it must be from 1 to " + largest));
}

TEST_F(ReadSweepFile, MoreLayersInAStageAreRefused) {
  EXPECT_THAT(read(cell + "balance = [1, 1, " + std::to_string(most_layers) + "]\n").cells[0].changes.balance,
              ElementsAre(1, 1, most_layers));
  const std::string more = std::to_string(most_layers + 1);
  EXPECT_THAT(refusal(cell + "balance = [1, 1, " + more + "]\n"), HasSubstr("is " + more + "; it must be from 0 to"));
}

TEST_F(ReadSweepFile, AResumedCaseIsReadWithItsFirstPart) {
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

TEST_F(ReadSweepFile, LimitsApplyOnlyIfRequested) {
  const auto calibrated = read(matrix + "tier = \"calibrated\"\nmixed_gpus = true\n");

  EXPECT_TRUE(calibrated.calibrated);
  EXPECT_TRUE(calibrated.mixed_gpus);
  EXPECT_FALSE(read(matrix).calibrated);
  EXPECT_FALSE(read(matrix + "tier = \"bits\"\n").calibrated);
}

}  // namespace
}  // namespace plumbline::testing
