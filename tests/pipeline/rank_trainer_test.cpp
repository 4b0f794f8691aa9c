// SPDX-License-Identifier: BSD-3-Clause
// What a rank does around its steps: when it begins, and when it may report success.
#include "pipeline/rank_trainer.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/temporary_folder.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr int world = 2;

/// Two steps of an untied model.
std::filesystem::path run_file(const testing::TemporaryFolder& folder) {
  return folder.file("run.toml", "[model]\nconfig = \"" PLUMBLINE_FIXTURES
                                 "/models/untied-128/config.json\"\n[data]\ntext = \"" PLUMBLINE_FIXTURES
                                 "/corpus/\"\nlengths = [4, 3]\n[train]\nsteps = 2\n");
}

/// Records its calls up to the first messages.
class NotingTransport : public mutant::ForwardingTransport {
 public:
  NotingTransport(std::unique_ptr<Transport> inner, std::vector<std::string>& notes)
      : ForwardingTransport(*inner), kept_(std::move(inner)), notes_(notes) {}
  void barrier() override {
    note("barrier");
    inner_.barrier();
  }
  void start_steps() override {
    note("start_steps");
    inner_.start_steps();
  }
  void end_batch() override {
    note("end_batch");
    posted_ = true;
    inner_.end_batch();
  }

 private:
  void note(const char* what) {
    if (!posted_) notes_.emplace_back(what);
  }

  std::unique_ptr<Transport> kept_;
  std::vector<std::string>& notes_;
  bool posted_ = false;
};

// The time limit of a step applies to steps: the start-up limit applies to a rank that loads for long or writes a large
// initial state.
TEST(RankTrainer, WaitsForAllRanksBeforeTheStepsTimeLimit) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> notes[world];
  PipelineOptions asked = options(run_file(folder), folder / "r", world, "1f1b");
  asked.make_transports = [&](int ranks, TransportSettings settings) {
    auto transports = make_threads_transports(ranks, settings);
    for (auto& each : transports) {
      auto& own = notes[each->rank()];
      each = std::make_unique<NotingTransport>(std::move(each), own);
    }
    return transports;
  };

  ASSERT_EQ(train_pipeline(asked), 0);

  for (const auto& own : notes) EXPECT_THAT(own, ElementsAre("barrier", "start_steps", "end_batch"));
}

/// Records when steps begin and are left.
class NotesSteps : public mutant::ForwardingTransport {
 public:
  NotesSteps(std::unique_ptr<Transport> inner, std::vector<std::string>& notes)
      : ForwardingTransport(*inner), kept_(std::move(inner)), notes_(notes) {}
  void start_steps() override {
    notes_.emplace_back("start_steps");
    inner_.start_steps();
  }
  void leave_steps() override {
    notes_.emplace_back("leave_steps");
    inner_.leave_steps();
  }

 private:
  std::unique_ptr<Transport> kept_;
  std::vector<std::string>& notes_;
};

TEST(RankTrainer, SavesOutsideOfTheStepsTimeLimit) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> notes[world];
  PipelineOptions asked = options(run_file(folder), folder / "r", world, "1f1b");
  asked.checkpoint.folder = folder / "c";
  asked.make_transports = [&](int ranks, TransportSettings settings) {
    auto transports = make_threads_transports(ranks, settings);
    for (auto& each : transports) {
      auto& own = notes[each->rank()];
      each = std::make_unique<NotesSteps>(std::move(each), own);
    }
    return transports;
  };

  ASSERT_EQ(train_pipeline(asked), 0);

  for (const auto& own : notes) EXPECT_THAT(own, ElementsAre("start_steps", "leave_steps", "start_steps"));
}

/// Records how many threads its rank computes on.
class CountsThreads : public mutant::ForwardingTransport {
 public:
  CountsThreads(std::unique_ptr<Transport> inner, int& threads)
      : ForwardingTransport(*inner), kept_(std::move(inner)), threads_(threads) {}
  void start_steps() override {
    threads_ = at::get_num_threads();
    inner_.start_steps();
  }

 private:
  std::unique_ptr<Transport> kept_;
  int& threads_;
};

TEST(RankTrainer, UsesTheConfiguredNumberOfThreads) {
  const testing::TemporaryFolder folder;
  std::string text = testing::bytes_of(run_file(folder));
  PipelineOptions asked = options(folder.file("run.toml", text + "threads = 2\n"), folder / "r", world, "1f1b");
  std::array<int, world> threads{};
  asked.make_transports = [&](int ranks, TransportSettings settings) {
    auto transports = make_threads_transports(ranks, settings);
    for (auto& each : transports) {
      int& own = threads.at(static_cast<std::size_t>(each->rank()));
      each = std::make_unique<CountsThreads>(std::move(each), own);
    }
    return transports;
  };

  ASSERT_EQ(train_pipeline(asked), 0);

  EXPECT_THAT(threads, ElementsAre(2, 2));
}

TEST(RankTrainer, TimesItsActionsFromTheStartOfTheRun) {
  const testing::TemporaryFolder folder;
  const std::int64_t begin_ns = monotonic_ns();
  ASSERT_EQ(train_pipeline(options(run_file(folder), folder / "r", world, "1f1b")), 0);
  const std::int64_t took_ns = monotonic_ns() - begin_ns;

  for (const RankRecord& rank : read_record(folder / "r").ranks) {
    ASSERT_FALSE(rank.actions.empty());
    for (const ActionRow& row : rank.actions) {
      EXPECT_GE(row.start_ns, 0) << row.action;
      EXPECT_LE(row.end_ns, took_ns) << row.action;
    }
  }
}

/// Of a rank that fails when it computes its last step: its traffic is unknown.
class FailsAfterItsLastStep : public mutant::ForwardingTransport {
 public:
  explicit FailsAfterItsLastStep(std::unique_ptr<Transport> inner)
      : ForwardingTransport(*inner), kept_(std::move(inner)) {}
  std::vector<TrafficCount> collect_traffic() override {
    if (++steps_ == 2) throw RunError("planted");
    return inner_.collect_traffic();
  }

 private:
  std::unique_ptr<Transport> kept_;
  int steps_ = 0;
};

TEST(RankTrainer, ReportsSuccessOnlyIfAllRanksSucceed) {
  const testing::TemporaryFolder folder;
  PipelineOptions asked = options(run_file(folder), folder / "r", world, "1f1b");
  asked.make_transports = [](int ranks, TransportSettings settings) {
    auto transports = make_threads_transports(ranks, settings);
    transports[1] = std::make_unique<FailsAfterItsLastStep>(std::move(transports[1]));
    return transports;
  };

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_pipeline(asked), 1);
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
