// SPDX-License-Identifier: BSD-3-Clause
// What a rank does around its steps: when it begins, and when it may report success.
#include "pipeline/rank_trainer.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/watched_transport.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr int world = 2;

/// Two steps of an untied model.
std::string run_with(const std::string& lines = "") {
  return testing::run_text("lengths = [4, 3]\n", "steps = 2\n" + lines, "untied-128");
}

// The time limit of a step applies to steps: the start-up limit applies to a rank that loads for long or writes a large
// initial state, and none to one that saves.
TEST(RankTrainer, LimitsAndTimesItsStepsOnItsThreads) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(folder.file("run.toml", run_with("threads = 2\n")), folder / "r", world, "1f1b");
  requested.checkpoint.folder = folder / "c";
  std::array<std::vector<std::string>, world> notes;
  std::array<int, world> threads{};
  Around steps;
  steps.call = [&](int rank, const std::string& call) {
    const auto index = static_cast<std::size_t>(rank);
    if (call == "enter_steps") threads.at(index) = at::get_num_threads();
    const bool posted = std::ranges::count(notes.at(index), "end_batch") > 0;
    if (call == "enter_steps" || call == "leave_steps" || (!posted && (call == "barrier" || call == "end_batch")))
      notes.at(index).push_back(call);
  };
  requested.make_transports = watched(steps);
  const std::int64_t begin_ns = monotonic_ns();

  ASSERT_EQ(train_pipeline(requested), 0);

  const std::int64_t took_ns = monotonic_ns() - begin_ns;
  for (const auto& own : notes)
    EXPECT_THAT(own, ElementsAre("barrier", "enter_steps", "end_batch", "leave_steps", "enter_steps", "leave_steps",
                                 "enter_steps"));
  EXPECT_THAT(threads, ElementsAre(2, 2));
  for (const RankRecord& rank : read_record(folder / "r").ranks) {
    ASSERT_FALSE(rank.actions.empty());
    for (const ActionRow& row : rank.actions) {
      EXPECT_GE(row.start_ns, 0) << row.action;
      EXPECT_LE(row.end_ns, took_ns) << row.action;
    }
  }
}

TEST(RankTrainer, ReportsSuccessOnlyIfAllRanksSucceed) {
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(folder.file("run.toml", run_with()), folder / "r", world, "1f1b");
  int steps = 0;  // of rank 1, which fails when it computes its last step: its traffic is unknown
  Around last_step;
  last_step.call = [&](int rank, const std::string& call) {
    if (rank == 1 && call == "collect_traffic" && ++steps == 2) throw RunError("planted");
  };
  requested.make_transports = watched(last_step);

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_pipeline(requested), 1);
  ::testing::internal::GetCapturedStderr();

  std::vector<std::string> ended;
  for (int rank = 0; rank < world; ++rank) {
    const auto exit = read_exit_file(folder / "r" / rank_folder(rank) / "exit.json");
    ended.push_back(exit ? exit->status : "nothing");
  }
  EXPECT_THAT(ended, ElementsAreArray({"error", "error"})) << "rank 0 had all its steps";
}

}  // namespace
}  // namespace plumbline
