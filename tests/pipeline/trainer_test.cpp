// SPDX-License-Identifier: BSD-3-Clause
// The pipeline compared with the reference, both in this process: ranks are threads.
#include "reference/trainer.hpp"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/launch.hpp"
#include "pipeline/transport/message.hpp"
#include "record/exit_file.hpp"
#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/pipeline/watched_transport.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

const std::string fixtures = testing::fixtures_path();

/// quick.toml with other lines in [pipeline].
std::filesystem::path run_with(const std::filesystem::path& folder, const std::string& pipeline) {
  return quick_run(folder, "\n[pipeline]\n" + pipeline + "\n");
}

class Parity : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<testing::TemporaryFolder>();
    const auto reference = reference_options(fixtures + "/runs/quick.toml", folder_->path() / "reference");
    train_reference(reference);
    reference_ = std::make_unique<Record>(read_record(reference.record));
  }
  static void TearDownTestSuite() {
    reference_.reset();
    folder_.reset();
  }

  static std::map<std::string, int> expect_same_bits(const Record& candidate) {
    return plumbline::expect_same_bits(*reference_, candidate);
  }

  static inline std::unique_ptr<testing::TemporaryFolder> folder_;
  static inline std::unique_ptr<Record> reference_;
};

/// Rows of one tensor across all stages: two for a message, one for two stages of one rank.
int rows_of_one_way(const Placement& placement) {
  int rows = 0;
  for (std::int32_t stage = 1; stage < placement.stages(); ++stage) {
    rows += placement.rank_of(stage) == placement.rank_of(stage - 1) ? 1 : 2;
  }
  return rows;
}

class ParityAtWorld : public Parity, public ::testing::WithParamInterface<WorldAndSchedule> {};

TEST_P(ParityAtWorld, MatchesOneDevice) {
  const auto& [world, schedule] = GetParam();
  const testing::TemporaryFolder folder;

  ASSERT_EQ(train_pipeline(options(fixtures + "/runs/quick.toml", folder.path() / "r", world, schedule)), 0);

  const Record record = read_record(folder.path() / "r");
  auto compared = expect_same_bits(record);
  const Placement placement = make_schedule(schedule, world, 4, default_chunks(schedule)).placement;
  EXPECT_EQ(compared["loss"], 3 * 4);
  EXPECT_EQ(compared["gradient"], 3 * 48) << "45 of 5 layers, norm, embedding and head";
  EXPECT_EQ(compared["boundary"], 3 * 4 * 2 * rows_of_one_way(placement)) << "steps, microbatches, directions, rows";
  if (world != 8 || schedule != "1f1b") return;
  ASSERT_TRUE(record.manifest.stages[6].units.empty());
  const RankRecord& empty = record.ranks[6];
  EXPECT_TRUE(empty.tensors.empty());
  EXPECT_EQ(empty.memory.front().parameter_bytes, 0);
  EXPECT_EQ(empty.memory.front().optimizer_bytes, 0);
  EXPECT_EQ(empty.steps.size(), 3U) << "it writes rows of every step too";
}

INSTANTIATE_TEST_SUITE_P(Worlds, ParityAtWorld, ::testing::ValuesIn(worlds_and_schedules(4)), name_of);

TEST_F(Parity, HoldsForAnyBalance) {
  const std::vector<std::pair<int, std::string>> cases = {
      {3, "[0, 5, 0]"}, {4, "[5, 0, 0, 0]"}, {4, "[0, 0, 0, 5]"}, {4, "[2, 0, 0, 3]"}};
  for (const auto& [world, balance] : cases) {
    const testing::TemporaryFolder folder;
    const auto run = run_with(folder.path(), "balance = " + balance);

    ASSERT_EQ(train_pipeline(options(run, folder.path() / "r", world, "1f1b")), 0) << balance;

    expect_same_bits(read_record(folder.path() / "r"));
  }
}

TEST(PipelineTrainer, RefusesRanksInASlurmJobAndAnUnknownTransport) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr)
    GTEST_SKIP() << "started by a launcher, which has another message";
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(fixtures + "/runs/quick.toml", folder.path() / "r", 2, "1f1b");
  requested.transport = "mpi";
  const testing::EnvironmentVariable job("SLURM_JOB_ID", "7");

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_pipeline(requested), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("start them with srun -n 2"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "r"));

  requested.transport = "thread";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_pipeline(requested), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("did you mean threads?"));
}

TEST(PipelineTrainer, EndsAllRanksWhenOneFails) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(fixtures + "/runs/quick.toml", folder.path() / "r", 3, "1f1b");
  Around planted;
  planted.before_wait = [](int rank, const MessageHeader& header) {
    if (rank == 1 && header.step == 1 && header.microbatch == 2) throw RunError("planted");
  };
  requested.make_transports = watched(planted);

  const int code = train_pipeline(requested);

  EXPECT_EQ(code, 1);
  const Record record = read_record(folder.path() / "r");
  for (const RankRecord& rank : record.ranks) {
    ASSERT_TRUE(rank.exit) << "rank " << rank.rank;
    EXPECT_NE(rank.exit->status, "ok");
    EXPECT_EQ(rank.steps.size(), 1U) << "the step before is kept";
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "r" / rank_folder(rank.rank) / "flight.jsonl"));
  }
  EXPECT_EQ(record.ranks[1].exit->last_action, "1F2");
}

TEST(PipelineTrainer, ATimeoutNamesTheHangingRank) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(run_with(folder.path(), "timeout_ms = 3000"), folder.path() / "r", 3, "afab");
  Around hanging;
  hanging.before_message = [](int rank, const MessageHeader& header) {
    if (rank == 2 && header.step == 1) std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  };
  requested.make_transports = watched(hanging);
  ::testing::internal::CaptureStderr();
  const int code = train_pipeline(requested);
  const std::string said = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(code, 1);
  EXPECT_THAT(said,
              ::testing::ContainsRegex("rank 2 has not reported that it waits, last seen in 2[A-Z_]+[0-9]+ of step 1"))
      << said;
  std::vector<std::string> ended;
  for (int rank = 0; rank < 3; ++rank)
    ended.push_back(read_exit_file(folder.path() / "r" / rank_folder(rank) / "exit.json")->status);
  EXPECT_THAT(ended, ::testing::Contains("timeout")) << "the rank whose limit passed first";
}

// Rank 0 gathers the norms: its heartbeat names the rank whose norm is missing, the others' heartbeats name rank 0.
TEST(PipelineTrainer, HeartbeatsNameTheAwaitedRankDuringTheNorm) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(run_with(folder.path(), "timeout_ms = 3000"), folder.path() / "r", 4, "1f1b");
  bool last = false;  // rank 2 has sent its last gradient
  Around hanging;
  hanging.before_message = [&](int rank, const MessageHeader& header) {
    if (rank == 2 && header.direction == Direction::backward && header.to_stage == 1) last = header.microbatch == 3;
  };
  hanging.call = [&](int rank, const std::string& call) {
    if (rank == 2 && call == "ended_batch" && std::exchange(last, false))
      std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  };
  requested.make_transports = watched(hanging);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_pipeline(requested), 1);
  const std::string said = ::testing::internal::GetCapturedStderr();

  EXPECT_THAT(said, ::testing::ContainsRegex("rank 2 has not reported that it waits, last seen in 2SEND_B3 of step 0"))
      << said;
  const auto peer_of = [&](int rank) {
    return read_progress(folder.path() / "r" / rank_folder(rank) / "progress")->peer;
  };
  EXPECT_EQ(peer_of(0), 2);
  EXPECT_EQ(peer_of(1), 0);
  EXPECT_EQ(peer_of(3), 0);
}

TEST(PipelineTrainer, LevelNoneWritesAndHashesNothing) {
  const testing::TemporaryFolder folder;
  std::ofstream(run_with(folder.path(), ""), std::ios::app) << "[record]\nlevel = \"none\"\n";
  train_reference(reference_options(folder.path() / "run.toml", folder.path() / "reference"));
  ASSERT_EQ(train_pipeline(options(folder.path() / "run.toml", folder.path() / "pipeline", 2, "1f1b")), 0);

  for (const char* record : {"reference", "pipeline"}) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / record / "rank-0")) {
      files.push_back(entry.path().filename());
    }
    EXPECT_THAT(files, ::testing::UnorderedElementsAre("progress", "exit.json")) << record;
    const auto exit = read_exit_file(folder.path() / record / "rank-0/exit.json");
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->status, "ok");
    EXPECT_FALSE(exit->data_digest);
  }
}

TEST(PipelineTrainer, OutOfMemoryNamesTheRankTheRequestAndThePlan) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(fixtures + "/runs/quick.toml", folder.path() / "r", 3, "1f1b");
  Around full;
  full.before_wait = [](int rank, const MessageHeader& header) {  // with LibTorch's text
    TORCH_CHECK_WITH(OutOfMemoryError, rank != 1 || header.step == 0,
                     "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB free.",
                     " If reserved but unallocated memory is large try setting X");
  };
  requested.make_transports = watched(full);

  ::testing::internal::CaptureStderr();
  const int code = train_pipeline(requested);
  const std::string said = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(code, 1);
  EXPECT_NE(said.find("rank 1 ended the run: out of GPU memory: CUDA out of memory. Tried to allocate 2.00 GiB"),
            std::string::npos);
  EXPECT_NE(said.find("rank 1's plan is at least"), std::string::npos) << said;
  EXPECT_EQ(said.find("try setting X"), std::string::npos) << said;
  const Record record = read_record(folder.path() / "r");
  for (const RankRecord& rank : record.ranks) {
    ASSERT_TRUE(rank.exit) << "rank " << rank.rank;
    EXPECT_NE(rank.exit->status, "ok");
    EXPECT_EQ(rank.steps.size(), 1U) << "the step before is kept";
  }
}

}  // namespace
}  // namespace plumbline
