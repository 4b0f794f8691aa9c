// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints that a thread writes while the training continues.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "model/initialize.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/checkpoint_save.hpp"
#include "training/checkpoint/checkpoints.hpp"
#include "training/model_slice.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BackgroundSave : public ::testing::Test {
 protected:
  fs::path run_file(bool background) {
    return folder_.file(background ? "background.toml" : "run.toml",
                        testing::run_text("lengths = [9, 4, 6]\n", "steps = 5\n[checkpoint]\nkeep = 5\nbackground = " +
                                                                       std::string(background ? "true\n" : "false\n")));
  }
  /// Digests of the checkpoints after each step.
  std::map<fs::path, std::map<std::string, std::string>> train(int ranks, bool background) {
    CheckpointOptions saving;
    saving.folder = folder_ / (std::to_string(ranks) + (background ? "b" : ""));
    saving.every = 1;
    EXPECT_EQ(train_on(ranks, run_file(background), saving, "1f1b"), 0);
    std::map<fs::path, std::map<std::string, std::string>> digests;
    for (const fs::path& each : whole_checkpoints(*saving.folder)) {
      digests[each.filename()] = read_checkpoint_file(each).digests;
    }
    return digests;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(BackgroundSave, GivesTheSameCheckpoints) {
  const auto expected = train(reference_alone, false);
  ASSERT_EQ(expected.size(), 5U);
  EXPECT_EQ(train(reference_alone, true), expected);
  EXPECT_EQ(train(3, true), expected);
}

TEST_F(BackgroundSave, LeavesTheMemoryOfARecordAsItIs) {
  std::map<std::string, std::vector<std::string>> expected;
  for (const bool background : {false, true}) {
    ReferenceOptions options;
    options.run_file = run_file(background);
    options.record = folder_ / (background ? "recorded-b" : "recorded");
    options.checkpoint.folder = folder_ / (background ? "saved-b" : "saved");
    options.checkpoint.every = 1;
    options.progress = false;
    train_reference(options);
    for (const std::string name : {"live_bytes", "peak_bytes"}) {
      const auto found = column(options.record / "rank-0" / "memory.csv", name);
      EXPECT_EQ(found.size(), 5U);
      if (background) {
        EXPECT_EQ(found, expected[name]) << name;
      }
      expected[name] = found;
    }
  }
}

/// A reference's state, after one step by its own count.
struct OneState {
  explicit OneState(const plumbline::Run& run)
      : slice(make_slice(run, all_units(run.config))), state(run.train.optimizer, slice.parameters()) {
    set_initial_values(slice, run.file);
    state.step = 1;
  }
  void change() const {
    const at::NoGradGuard no_grad;
    for (const TrainedParameter& each : state.parameters) each.trained().add_(1);
  }
  LlamaSlice slice;
  TrainState state;
};

TEST_F(BackgroundSave, SavesTheStateOfItsStart) {
  const auto run = load_run(run_file(true), {});
  OneState one(run);
  RankGroup alone;
  std::map<std::string, std::string> expected;
  for (const bool in_background : {false, true}) {
    const fs::path folder = folder_ / (in_background ? "background" : "expected");
    make_folder(folder);
    CheckpointSave saving(folder, run, alone);
    saving.start(one.state, in_background);
    if (in_background) one.change();
    saving.finish();
    EXPECT_FALSE(saving.pending());
    const auto digests = read_checkpoint_file(folder / "latest").digests;
    if (in_background) {
      EXPECT_EQ(digests, expected);
    }
    expected = digests;
  }
}

TEST_F(BackgroundSave, AndForegroundSavePublishAfterTheRowOfTheStep) {
  for (const bool background : {false, true}) {
    auto run = load_run(run_file(background), {});
    const fs::path folder = folder_ / (background ? "b" : "c");
    run.checkpoint.folder = folder;
    run.checkpoint.every = 1;
    OneState one(run);
    RankGroup alone;
    Checkpoints checkpoints(run, alone);
    for (one.state.step = 1; one.state.step <= 5; ++one.state.step) {
      std::vector<bool> saved;
      checkpoints.step_ended(one.state, [&](double /*seconds*/, bool follows) {
        EXPECT_FALSE(path_exists(checkpoint_path(folder, one.state.step))) << one.state.step;
        saved.push_back(follows);
      });
      EXPECT_EQ(saved, std::vector{true});
    }
    EXPECT_EQ(whole_checkpoints(folder).size(), 5U);
  }
}

/// Both ranks of a job: rank 1 writes for longer than any wait within a step or at the start may take.
TEST_F(BackgroundSave, AndForegroundSaveWaitForASlowDisk) {
  using namespace std::chrono_literals;
  const auto run = load_run(run_file(true), {});
  for (const bool background : {false, true}) {
    const fs::path folder = folder_ / (background ? "b" : "c");
    make_folder(folder);
    const auto transports = make_threads_transports(2, {.timeout = 200ms, .start_timeout = 200ms, .save_timeout = 60s});
    const auto save = [&](std::size_t rank) {
      at::set_num_threads(1);
      const OneState one(run);
      Transport& transport = *transports[rank];
      transport.barrier();
      CheckpointSave saving(folder, run, transport);
      saving.start(one.state, background);
      if (rank == 1) std::this_thread::sleep_for(1s);
      saving.finish();
      EXPECT_EQ(saving.failure(), std::nullopt);
      transport.finish();
    };
    std::jthread other([&] { save(1); });
    save(0);
  }
}

TEST_F(BackgroundSave, AndForegroundSaveRefuseReplicasWithDifferentBits) {
  auto run = load_run(run_file(true), {});
  run.pipeline.replicas = 2;
  for (const bool background : {false, true}) {
    const fs::path folder = folder_ / (background ? "b" : "c");
    make_folder(folder);
    const auto transports = limited_threads(2, {});
    std::array<std::string, 2> said;
    const auto save = [&](std::size_t rank) {
      at::set_num_threads(1);
      const OneState one(run);
      if (rank == 1) one.change();
      CheckpointSave saving(folder, run, *transports[rank]);
      said[rank] = testing::error_of<RunError>([&] {
        saving.start(one.state, background);
        saving.finish();
      });
    };
    std::jthread other([&] { save(1); });
    save(0);
    other.join();
    EXPECT_THAT(said, ::testing::Each(HasSubstr("replicas of the pipeline hold different bits of model.")));
    EXPECT_TRUE(whole_checkpoints(folder).empty());
  }
}

TEST_F(BackgroundSave, AndForegroundSaveMayBeLate) {
  auto run = load_run(run_file(true), {});
  run.checkpoint.timeout_ms = 0;
  const OneState one(run);
  RankGroup alone;
  for (const bool background : {false, true}) {
    const fs::path folder = folder_ / (background ? "b" : "c");
    make_folder(folder);
    CheckpointSave saving(folder, run, alone);
    saving.start(one.state, background);
    saving.finish();
    EXPECT_THAT(saving.failure().value_or(""),
                AllOf(HasSubstr("rank 0 has not written its files within 0 ms"), HasSubstr("checkpoint.timeout_ms")));
    EXPECT_TRUE(fs::is_empty(folder));
  }
}

TEST_F(BackgroundSave, IsPublishedOnceThePollSeesItsEnd) {
  const auto run = load_run(run_file(true), {});
  const OneState one(run);
  RankGroup alone;
  make_folder(folder_ / "c");
  CheckpointSave saving(folder_ / "c", run, alone);
  EXPECT_FALSE(saving.pending());
  saving.start(one.state, true);
  EXPECT_TRUE(saving.pending());
  while (!saving.poll()) {
  }
  EXPECT_FALSE(saving.pending());
  EXPECT_EQ(whole_checkpoints(folder_ / "c").size(), 1U);
}

/// The second step's gradients are not finite while the checkpoint of the first is written.
TEST_F(BackgroundSave, IsFinishedBeforeAStepThatIsNotFiniteEndsTheTraining) {
  std::string text = read_file(run_file(true));
  text.replace(text.find("steps = 5"), 9, "steps = 5\noptimizer = \"sgd\"\nlearning_rate = 1e30");
  const fs::path run = folder_.file("run.toml", text);
  for (const int ranks : {1, 3}) {
    CheckpointOptions saving;
    saving.folder = folder_ / std::to_string(ranks);
    saving.every = 1;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(train_on(ranks, run, saving, "1f1b"), 1);
    const fs::path first = checkpoint_path(*saving.folder, 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("step 1: the gradients are not finite (norm "), HasSubstr("first in model."),
                      HasSubstr("the last checkpoint remains, " + first.string() + ".")));
    EXPECT_THAT(whole_checkpoints(*saving.folder), ElementsAre(first));
    EXPECT_EQ(column(*saving.folder / "metrics.csv", "step").size(), 1U);
  }
}

TEST_F(BackgroundSave, AnUnfinishedOneLeavesThePreviousCheckpoint) {
  const auto run = load_run(run_file(true), {});
  OneState one(run);
  RankGroup alone;
  make_folder(folder_ / "c");
  {
    CheckpointSave saving(folder_ / "c", run, alone);
    saving.start(one.state, true);
    saving.finish();
    one.state.step = 2;
    saving.start(one.state, true);
  }
  EXPECT_EQ(whole_checkpoints(folder_ / "c"), std::vector{checkpoint_path(folder_ / "c", 1)});
  EXPECT_TRUE(path_exists(partial_path(folder_ / "c", 2)));
}

}  // namespace
}  // namespace plumbline
