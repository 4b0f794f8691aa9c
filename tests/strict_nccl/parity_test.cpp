// SPDX-License-Identifier: BSD-3-Clause
// The trainer's own executor over the NCCL transport and the strict libraries: bit-identical to one device, every
// schedule at 1 to 8 ranks. Sent tensors are computed, and received ones read, asynchronously to the host.
#include "tests/pipeline/parity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <utility>

#include "pipeline/transport/transport.hpp"
#include "reference/trainer.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/paths.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/streamed_compute.hpp"
#include "tests/strict_nccl/strict_transports.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

const std::string fixtures = testing::fixtures_path();
constexpr int microbatches = 16;
constexpr int steps = 2;

/// quick.toml with enough microbatches for every schedule at 8 ranks.
std::filesystem::path write_run(const std::filesystem::path& folder) {
  std::string text = read_file(fixtures + "/runs/quick.toml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replace("lengths = [16, 9, [16, 5], 1]",
          "lengths = [16, 9, [16, 5], 1, 8, 13, [2, 7], 4, 11, 3, [5, 5], 12, 6, 15, [1, 9], 10]");
  replace("steps = 3", "steps = " + std::to_string(steps));
  replace("\"../", "\"" + fixtures + "/");
  std::ofstream(folder / "run.toml") << text;
  return folder / "run.toml";
}

class StrictParity : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<testing::TemporaryFolder>();
    write_run(folder_->path());
    ReferenceOptions reference;
    reference.run_file = folder_->path() / "run.toml";
    reference.record = folder_->path() / "reference";
    reference.progress = false;
    reference.command = {"test"};
    train_reference(reference);
    reference_ = std::make_unique<Record>(read_record(reference.record));
  }
  static void TearDownTestSuite() {
    reference_.reset();
    folder_.reset();
  }

  struct Run {
    int code = -1;
    std::vector<std::string> findings;
    std::vector<std::string> leftovers;
    std::int64_t groups = 0;
  };

  static Run train(int ranks, const std::string& schedule, const std::filesystem::path& record,
                   const strict::GpuSeam& seam = {},
                   std::chrono::microseconds kernel_time = std::chrono::microseconds(100)) {
    strict::Settings behavior;
    behavior.busy_answers = 1;
    behavior.delay = [](int from, int to) {
      static std::minstd_rand random(11);  // under the model's lock
      return std::chrono::microseconds(random() % 4 == 0 ? 150 * (1 + (from + 2 * to) % 4) : 0);
    };
    strict::StrictWorld world(ranks, std::move(behavior));
    PipelineOptions made = options(folder_->path() / "run.toml", record, ranks, schedule);
    made.make_transports = [&](int count, TransportSettings settings) {
      // A mistake may leave a message in progress in memory that the trainer has freed.
      const NcclSettings nccl{.run_ahead = seam ? 0 : 2 * (count % 2)};
      auto transports = strict::make_strict_transports(world, count, settings, nccl, seam);
      for (auto& transport : transports) {
        transport = strict::stream_compute(world, std::move(transport), kernel_time);
      }
      return transports;
    };
    Run run;
    run.code = train_pipeline(made);
    run.findings = world.findings();
    run.leftovers = world.leftovers();
    run.groups = world.groups();
    return run;
  }

  static inline std::unique_ptr<testing::TemporaryFolder> folder_;
  static inline std::unique_ptr<Record> reference_;
};

TEST(WorldsAndSchedules, AreComplete) {
  std::map<std::string, int> worlds;
  for (const auto& [world, schedule] : worlds_and_schedules(microbatches)) ++worlds[schedule];

  for (const std::string& schedule : schedule_names()) {
    if (schedule == "interleaved-1f1b") continue;  // microbatches must be a multiple of the ranks: 1, 2, 4, 8
    EXPECT_EQ(worlds[schedule], 8) << schedule;
  }
  EXPECT_GE(worlds["interleaved-1f1b"], 4);
}

class StrictParityAt : public StrictParity, public ::testing::WithParamInterface<WorldAndSchedule> {};

TEST_P(StrictParityAt, MatchesOneDevice) {
  const auto& [world, schedule] = GetParam();
  const testing::TemporaryFolder folder;

  const Run run = train(world, schedule, folder / "r");

  ASSERT_EQ(run.code, 0);
  EXPECT_THAT(run.findings, ::testing::IsEmpty());
  EXPECT_THAT(run.leftovers, ::testing::IsEmpty());
  auto compared = expect_same_bits(*reference_, read_record(folder / "r"));
  EXPECT_EQ(compared["loss"], steps * microbatches);
  EXPECT_EQ(compared["gradient"], steps * 48) << "45 of 5 layers, norm, embedding and head";
  if (world > 1) {
    EXPECT_GT(run.groups, 0);
    EXPECT_GT(compared["boundary"], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, StrictParityAt, ::testing::ValuesIn(worlds_and_schedules(microbatches)), name_of);

/// How many of a record's boundary tensors differ from the reference's.
int differing_boundaries(const Record& reference, const Record& candidate) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::string> expected;
  for (const BoundaryRow& row : reference.ranks.front().boundaries) {
    expected[{row.step, row.microbatch, row.direction, row.cut}] = row.digest;
  }
  int differing = 0;
  for (const RankRecord& rank : candidate.ranks) {
    for (const BoundaryRow& row : rank.boundaries) {
      if (row.digest != expected.at({row.step, row.microbatch, row.direction, row.cut})) ++differing;
    }
  }
  return differing;
}

// The same run without waits for events: the comparison detects it, and the strict libraries report why. A kernel takes
// long enough that a thread that is scheduled late still finds its memory unwritten.
TEST_F(StrictParity, MissingEventWaitsChangeBoundaryTensors) {
  const testing::TemporaryFolder folder;

  const Run run =
      train(3, "1f1b", folder / "r", strict::plant_cuda<strict::NoEventWaits>({1}), std::chrono::milliseconds(10));

  EXPECT_GT(differing_boundaries(*reference_, read_record(folder / "r")), 0);
  EXPECT_THAT(run.findings, ::testing::Contains(::testing::AllOf(
                                ::testing::HasSubstr("rank 1's send of"),
                                ::testing::HasSubstr("kernel compute of what is sent writes at that moment"))));
}

}  // namespace
}  // namespace plumbline
