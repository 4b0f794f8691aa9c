// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks are threads: the files it leaves, and its messages.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/job.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "record/exit_file.hpp"
#include "record/manifest.hpp"
#include "record/rank_folder.hpp"
#include "support/json.hpp"
#include "tests/environment_variable.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/watched_transport.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ThreadsJob : public ::testing::Test {
 protected:
  /// Two steps of two microbatches, on ranks with a time limit of two seconds.
  fs::path run_file() const {
    return folder_.file("run.toml",
                        testing::run_text("lengths = [7, 4]\n", "steps = 2\n[pipeline]\ntimeout_ms = 2000\n"));
  }
  PipelineOptions options_for(int world) const { return options(run_file(), folder_ / "r", world, "1f1b"); }
  int train(const PipelineOptions& options) {
    ::testing::internal::CaptureStderr();
    const int code = train_with_threads(options);
    said_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  testing::TemporaryFolder folder_;
  std::string said_;
};

TEST_F(ThreadsJob, RunsOneRankQuietlyByDefault) {
  PipelineOptions one = options_for(1);
  one.world.reset();

  ASSERT_EQ(train(one), 0);

  EXPECT_EQ(said_, "");
  EXPECT_EQ(read_manifest(folder_ / "r").world_size, 1);
}

TEST_F(ThreadsJob, RefusesTheFolderOfAnotherRun) {
  folder_.file("r/manifest.json", "another run's");

  EXPECT_THAT(testing::error_of<InputError>([&] { train_with_threads(options_for(2)); }),
              HasSubstr("is not empty, so it may hold another run"));
  EXPECT_EQ(testing::bytes_of(folder_ / "r/manifest.json"), "another run's");
}

TEST_F(ThreadsJob, ReportsOnlyTheFailedRank) {
  PipelineOptions failing = options_for(3);
  Around its_first_message;
  its_first_message.call = [](int rank, const std::string& call) {
    if (rank == 1 && call == "end_batch") throw RunError("planted");
  };
  failing.make_transports = watched(its_first_message);

  EXPECT_EQ(train(failing), 1);

  EXPECT_THAT(said_,
              AllOf(HasSubstr("rank 1 ended the run: planted\n"), Not(HasSubstr("rank 0")), Not(HasSubstr("rank 2"))))
      << "the others only waited for it";
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(read_exit_file(folder_ / "r" / rank_folder(rank) / "exit.json")->status, "error") << rank;
}

TEST_F(ThreadsJob, OnlyTheFirstFailureIsReported) {
  PipelineOptions failing = options_for(3);
  Around its_first_message;
  its_first_message.call = [&](int rank, const std::string& call) {
    if (call == "end_batch") throw SystemError("planted in rank " + std::to_string(rank));
  };
  failing.make_transports = watched(its_first_message);

  EXPECT_EQ(train(failing), 3);

  const auto first = said_.find("planted in rank");
  ASSERT_NE(first, std::string::npos) << said_;
  EXPECT_EQ(said_.find("planted in rank", first + 1), std::string::npos) << said_;
}

TEST_F(ThreadsJob, AFailedStartLeavesNoRecord) {
  PipelineOptions lost = options_for(2);
  lost.checkpoint.folder = folder_ / "c";
  lost.checkpoint.resume = (folder_ / "nowhere").string();

  EXPECT_EQ(train(lost), 2);

  EXPECT_THAT(said_, HasSubstr("nowhere"));
  EXPECT_TRUE(fs::is_empty(folder_ / "r"));
  lost.checkpoint = {};
  EXPECT_EQ(train(lost), 0) << "the corrected command runs";
}

TEST_F(ThreadsJob, OneFailedStartEndsAllRanks) {
  PipelineOptions late = options_for(16);
  late.make_transports = [this](int world, TransportSettings settings) {
    folder_.file("r/manifest.json", "of a run that began at the same moment");
    return make_threads_transports(world, settings);
  };

  EXPECT_EQ(train(late), 2);

  EXPECT_THAT(said_, StartsWith("plumbline-pipeline: " + (folder_ / "r").string() + ": is not empty"));
}

TEST_F(ThreadsJob, LeavesNoTemporaryFiles) {
  fs::create_directories(folder_ / "tmp");
  const testing::EnvironmentVariable here("TMPDIR", (folder_ / "tmp").c_str());
  PipelineOptions unrecorded = options_for(2);
  unrecorded.record.clear();
  unrecorded.checkpoint.folder = folder_ / "c";

  ASSERT_EQ(train(unrecorded), 0);

  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

// More than any machine has: 50000 threads of 1 MiB, and for each pair of ranks 5 channels with a queue of 704 bytes:
// 50000 x 2^20 + 50000^2 x 5 x 704 = 8.852e12 bytes, which are 8.05 TiB; without the threads it would be 8.00.
TEST_F(ThreadsJob, ChecksMemoryForThreadsAndQueues) {
  EXPECT_THAT(testing::error_of<SystemError>([&] { train_with_threads(options_for(50000)); }),
              HasSubstr("50000 ranks as threads of one process needs 6.45 TiB of memory"));
}

}  // namespace
}  // namespace plumbline
