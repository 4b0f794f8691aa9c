// SPDX-License-Identifier: BSD-3-Clause
// When two ranks hold the tied weight, they compare their copies, and the record has their waits and sums.
#include <ATen/Tensor.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "pipeline/launch.hpp"
#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/watched_transport.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

class TiedCopies : public ::testing::Test {
 protected:
  /// Trains a tied model on two ranks, which are threads; returns the exit code. `keys`: more lines of [train].
  int train(const std::string& keys = "") {
    const auto run = folder_.file(
        "run.toml", testing::run_text("lengths = [9, 4]\n", "steps = 2\n" + keys + "[record]\nlevel = \"dump\"\n"));
    PipelineOptions requested = options(run, folder_ / "r", 2, "1f1b");
    requested.make_transports = watched(around_);
    return train_pipeline(requested);
  }
  std::filesystem::path rank(std::int64_t number) const { return folder_ / "r" / rank_folder(number); }

  testing::TemporaryFolder folder_;
  Around around_;
};

TEST_F(TiedCopies, EndTheRunIfTheyDiffer) {
  around_.received = [](int rank, const MessageHeader& header, at::Tensor& gradient) {
    if (rank == 1 && !is_boundary(header)) gradient.view({-1})[7] += 1;  // the sum, on its way back to the head
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train(), 1);
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("step 0: the copies of the tied weight on the first and the last stage differ after the update"));
}

// In mixed precision the masters may differ long before their bfloat16 copies do.
TEST_F(TiedCopies, EndTheRunIfMastersDiffer) {
  around_.received = [](int rank, const MessageHeader& header, at::Tensor& gradient) {
    if (rank == 1 && !is_boundary(header)) gradient.view({-1})[7] += 1e-2F;  // 1e-5 of the weight, at this rate
  };

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train("precision = \"mixed\"\noptimizer = \"sgd\"\nlearning_rate = 1e-3\n"), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("step 0: the copies of the tied weight"));
}

TEST_F(TiedCopies, TheHeartbeatNamesThePeerDuringTheSum) {
  std::int64_t peer = -1;  // of rank 0, which receives first
  around_.before_wait = [&](int number, const MessageHeader& header) {
    if (number == 0 && !is_boundary(header)) peer = read_progress(folder_ / "r/rank-0/progress")->peer;
  };
  ASSERT_EQ(train(), 0);
  EXPECT_EQ(peer, 1);
}

TEST_F(TiedCopies, TheWaitForTheNormIsRecorded) {
  around_.call = [](int number, const std::string& call) {
    if (number == 1 && call == "gather") std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  ASSERT_EQ(train(), 0);
  int steps = 0;
  const Record record = read_record(folder_ / "r");
  for (const ActionRow& row : record.ranks[0].actions) {
    if (row.action != "0STEP") continue;
    ++steps;
    EXPECT_GE(row.wait_ns, 10'000'000) << "rank 0 has all norms when rank 1 gives its own";
  }
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace plumbline
