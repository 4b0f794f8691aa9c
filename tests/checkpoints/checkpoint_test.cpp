// SPDX-License-Identifier: BSD-3-Clause
// A training that is stopped and resumed, on other ranks and settings, has the bits of one that was never stopped.
// Ranks are threads.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/launch.hpp"
#include "reference/trainer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/folder_lock.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// A run file of three steps.
struct Training {
  bool tied = true;
  std::string optimizer = "adamw";
  std::string dtype = "float32";
  std::string more = {};  ///< lines for [train]
  int steps = 3;
  std::string data = {};  ///< lines for [data]

  std::string text() const {
    const std::string model = tied ? "stories260k" : "untied-128";
    return "[model]\nconfig = \"" + testing::fixtures_path() + "/models/" + model +
           "/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
           "/corpus/\"\nlengths = [9, 4, 6, 5]\nbatch = 2\n" + data + "[train]\nsteps = " + std::to_string(steps) +
           "\nlearning_rate = 1e-3\nwarmup_steps = 1\nclip_norm = 1.0\noptimizer = \"" + optimizer + "\"\ndtype = \"" +
           dtype + "\"\n" + (optimizer == "sgd" ? "momentum = 0.9\n" : "") + more;
  }
};

class Checkpointing : public ::testing::Test {
 protected:
  fs::path run_file(const Training& training) {
    const fs::path path = folder_.path() / "run.toml";
    std::ofstream(path) << training.text();
    return path;
  }

  /// Trains and saves every step in `into`. `ranks` 0: the reference.
  int train(const Training& training, int ranks, const fs::path& into, const std::string& resume = "none",
            const std::string& schedule = "1f1b") {
    CheckpointOptions checkpoint;
    checkpoint.folder = into;
    checkpoint.every = 1;
    checkpoint.resume = resume;
    return train_on(ranks, run_file(training), checkpoint, schedule);
  }

  static std::map<std::string, std::string> digests(const fs::path& checkpoint) {
    return read_checkpoint_file(checkpoint).digests;
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }

  testing::TemporaryFolder folder_;
};

TEST_F(Checkpointing, AnyNumberOfRanksResumesAnyOther) {
  const Training training;
  train(training, reference_alone, at("whole"));
  const auto whole = digests(at("whole") / "latest");
  ASSERT_EQ(whole.size(), 3U * 47U);
  const std::vector<std::string> schedules{"1f1b", "zb-h1", "zb-v", "afab"};
  for (int from = 0; from <= 8; ++from) {
    const fs::path saved = at("from" + std::to_string(from));
    ASSERT_EQ(train(training, from, saved, "none", schedules[static_cast<std::size_t>(from) % 4]), 0);
    ASSERT_EQ(digests(saved / "latest"), whole) << from << " ranks, never stopped";
    for (int to = 0; to <= 8; ++to) {
      const fs::path into = at("to" + std::to_string(from) + std::to_string(to));
      const fs::path stopped = checkpoint_path(saved, 1 + (from + to) % 2);
      ASSERT_EQ(train(training, to, into, stopped, schedules[static_cast<std::size_t>(to + 1) % 4]), 0);
      EXPECT_EQ(digests(into / "latest"), whole) << from << " to " << to << " ranks from " << stopped;
      fs::remove_all(into);
    }
  }
}

TEST_F(Checkpointing, AShuffledRunResumesInItsOrder) {
  const Training plain;
  Training shuffled;
  shuffled.data = "shuffle = \"windows\"\n";
  train(plain, reference_alone, at("plain"));
  train(shuffled, reference_alone, at("whole"));
  const auto whole = digests(at("whole") / "latest");
  EXPECT_NE(whole, digests(at("plain") / "latest"));

  ASSERT_EQ(train(shuffled, 3, at("three"), checkpoint_path(at("whole"), 1), "zb-v"), 0);
  EXPECT_EQ(digests(at("three") / "latest"), whole);
  train(shuffled, reference_alone, at("one"), checkpoint_path(at("three"), 2));
  EXPECT_EQ(digests(at("one") / "latest"), whole);
  EXPECT_THAT(
      error_of<InputError>([&] { train(plain, reference_alone, at("other"), checkpoint_path(at("whole"), 1)); }),
      HasSubstr("data.shuffle = \"windows\""));
}

TEST_F(Checkpointing, RecomputationMayChangeOnResume) {
  const Training plain;
  Training recomputing;
  recomputing.more = "recompute = \"layer\"\n";
  train(plain, reference_alone, at("whole"));
  const auto whole = digests(at("whole") / "latest");

  ASSERT_EQ(train(recomputing, 3, at("three"), checkpoint_path(at("whole"), 1), "zb-v"), 0);
  EXPECT_EQ(digests(at("three") / "latest"), whole);
  ASSERT_EQ(train(plain, 2, at("two"), checkpoint_path(at("three"), 2)), 0);
  EXPECT_EQ(digests(at("two") / "latest"), whole);
}

class EachKind : public Checkpointing,
                 public ::testing::WithParamInterface<std::tuple<bool, std::string, std::string>> {};

TEST_P(EachKind, ResumesWithEqualBits) {
  Training training;
  std::tie(training.tied, training.optimizer, training.dtype) = GetParam();
  train(training, reference_alone, at("whole"));
  const auto whole = digests(at("whole") / "latest");
  ASSERT_EQ(train(training, 3, at("three"), checkpoint_path(at("whole"), 1), "zb-v"), 0);
  EXPECT_EQ(digests(at("three") / "latest"), whole);
  ASSERT_EQ(train(training, 2, at("two"), checkpoint_path(at("three"), 2)), 0);
  EXPECT_EQ(digests(at("two") / "latest"), whole);
  train(training, reference_alone, at("one"), checkpoint_path(at("three"), 2));
  EXPECT_EQ(digests(at("one") / "latest"), whole);
}

INSTANTIATE_TEST_SUITE_P(All, EachKind,
                         ::testing::Combine(::testing::Bool(), ::testing::Values("adamw", "sgd"),
                                            ::testing::Values("float32", "float64", "bfloat16", "mixed")));

TEST_F(Checkpointing, LatestUsesTheNewestOrStartsAtStepZero) {
  Training training;
  training.steps = 2;
  train(training, reference_alone, at("c"), "latest");
  EXPECT_THAT(whole_checkpoints(at("c")), ElementsAre(checkpoint_path(at("c"), 2), checkpoint_path(at("c"), 1)));
  training.steps = 5;
  ASSERT_EQ(train(training, 2, at("c"), "latest"), 0);
  EXPECT_THAT(whole_checkpoints(at("c")),
              ElementsAre(checkpoint_path(at("c"), 5), checkpoint_path(at("c"), 4), checkpoint_path(at("c"), 3)))
      << "three are kept";
  EXPECT_EQ(fs::read_symlink(at("c") / "latest"), "step-00000005");
}

/// Changes a byte in the middle of a file.
void damage(const fs::path& file) {
  std::string bytes = read_file(file);
  bytes[bytes.size() - 5] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(Checkpointing, LatestSkipsADamagedCheckpoint) {
  const Training training;
  train(training, reference_alone, at("whole"));
  ASSERT_EQ(train(training, 2, at("c")), 0);
  damage(at("c") / "latest/model-00002-of-00002.safetensors");

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train(training, 3, at("x"), at("c") / "latest"), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("model-00002-of-00002.safetensors: "), HasSubstr("is not what was written")));

  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train(training, 3, at("c"), "latest"), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("resuming from the previous checkpoint"));
  EXPECT_EQ(digests(at("c") / "latest"), digests(at("whole") / "latest"));
}

TEST_F(Checkpointing, RefusesAnotherTrainingAndNamesTheSetting) {
  const Training training;
  train(training, reference_alone, at("c"));
  const auto refused = [&](const Training& other) {
    return error_of<InputError>([&] { train(other, reference_alone, at("x"), at("c") / "step-00000002"); });
  };
  EXPECT_THAT(refused({.tied = false}), HasSubstr("was trained with model."));
  EXPECT_THAT(refused({.optimizer = "sgd"}), HasSubstr("was trained with train.optimizer."));
  EXPECT_THAT(refused({.dtype = "float64"}), HasSubstr("train.dtype = \"float32\", and "));
  EXPECT_THAT(refused({.more = "weight_decay = 0.1\n"}), HasSubstr("train.optimizer.weight_decay = 0.0"));
  EXPECT_THAT(refused({.more = "seed = 7\n"}), HasSubstr("train.seed = 1"));
  EXPECT_THAT(refused({.more = "final_factor = 0.5\n"}), HasSubstr("train.final_factor = 0.0, and "));
  EXPECT_THAT(refused({.more = "decay = \"matrices\"\n"}), HasSubstr("train.optimizer.decay = \"all\", and "));
  EXPECT_THAT(refused({.more = "threads = 2\n"}), HasSubstr("train.threads = 1, and "));
  EXPECT_THAT(refused({.steps = 1}), HasSubstr("has made 2 steps"));
}

TEST_F(Checkpointing, DoesNotSkipACheckpointOfAnotherTraining) {
  train({}, reference_alone, at("c"));
  const auto refused = [&](const Training& other) {
    return error_of<InputError>([&] { train(other, reference_alone, at("c"), "latest"); });
  };
  EXPECT_THAT(refused({.optimizer = "sgd", .steps = 4}), HasSubstr("step-00000003: was trained with train.optimizer."));
  EXPECT_THAT(refused({.steps = 2}), HasSubstr("step-00000003: has made 3 steps"));

  Json file = read_json(at("c") / "step-00000003/checkpoint.json");
  file["schema"] = "plumbline-checkpoint/2";
  write_json(at("c") / "step-00000003/checkpoint.json", file);
  EXPECT_THAT(refused({.steps = 4}), HasSubstr("written by a newer version"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train({.steps = 4}, 2, at("c"), "latest"), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("written by a newer version"));
  EXPECT_EQ(whole_checkpoints(at("c")).size(), 3U) << "nothing was trained";
}

TEST_F(Checkpointing, DoesNothingWithoutRemainingSteps) {
  train({}, reference_alone, at("c"));
  const auto before = digests(at("c") / "latest");
  for (const int ranks : {reference_alone, 2}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(train({}, ranks, at("c"), "latest"), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("all 3 steps are already made"));
  }
  EXPECT_EQ(digests(at("c") / "latest"), before);
}

TEST_F(Checkpointing, MovesAStaleLink) {
  train({}, reference_alone, at("c"));
  for (const int ranks : {reference_alone, 2}) {
    fs::remove(at("c") / "latest");
    fs::create_directory_symlink("step-00000002", at("c") / "latest");
    EXPECT_EQ(train({}, ranks, at("c"), "latest"), 0);
    EXPECT_EQ(fs::read_symlink(at("c") / "latest"), "step-00000003");
  }
}

TEST_F(Checkpointing, TheFolderMayComeFromTheCommandLine) {
  const auto with_table = [&](const std::optional<fs::path>& folder) {
    ReferenceOptions options;
    options.run_file = folder_.path() / "run.toml";
    std::ofstream(options.run_file) << Training().text() << "[checkpoint]\nevery = 2\n";
    options.checkpoint.folder = folder;
    options.progress = false;
    train_reference(options);
  };
  EXPECT_THAT(error_of<InputError>([&] { with_table(std::nullopt); }),
              AllOf(HasSubstr("run.toml, key checkpoint.folder: is missing"), HasSubstr("--checkpoint DIR")));
  with_table(at("c"));
  EXPECT_THAT(whole_checkpoints(at("c")), ElementsAre(checkpoint_path(at("c"), 3), checkpoint_path(at("c"), 2)));
}

TEST_F(Checkpointing, RefusesPartialAndNewerCheckpoints) {
  const Training training;
  ASSERT_EQ(train(training, 2, at("c")), 0);
  const fs::path whole = at("c") / "step-00000003";
  const auto refused = [&] { return error_of<InputError>([&] { train(training, reference_alone, at("x"), whole); }); };
  fs::rename(whole / "state-00002-of-00002.safetensors", at("kept"));
  EXPECT_THAT(refused(), AllOf(HasSubstr("state-00002-of-00002.safetensors"), HasSubstr("is missing")));
  fs::rename(at("kept"), whole / "state-00002-of-00002.safetensors");
  fs::rename(whole / "model-00001-of-00002.safetensors", at("kept"));
  EXPECT_THAT(refused(), AllOf(HasSubstr("model-00001-of-00002.safetensors"), HasSubstr("is missing")));
  fs::rename(at("kept"), whole / "model-00001-of-00002.safetensors");
  Json file = read_json(whole / "checkpoint.json");
  for (const Json& written_by : {Json(5), Json{{"run_id", 5}}}) {
    Json damaged = file;
    damaged["written_by"] = written_by;
    write_json(whole / "checkpoint.json", damaged);
    EXPECT_THAT(refused(), HasSubstr("written_by is not an object, or its run_id not a string"));
  }
  file["schema"] = "plumbline-checkpoint/2";
  write_json(whole / "checkpoint.json", file);
  EXPECT_THAT(refused(), HasSubstr("schema plumbline-checkpoint/2 is not known"));
  fs::remove(whole / "checkpoint.json");
  EXPECT_THAT(refused(), HasSubstr("checkpoint.json"));
}

TEST_F(Checkpointing, TwoRunsDoNotSaveIntoOneFolder) {
  make_folder(at("c"));
  const FolderLock other(at("c"));

  EXPECT_THAT(error_of<InputError>([&] { train({}, reference_alone, at("c")); }), HasSubstr("another plumbline"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train({}, 2, at("c")), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("another plumbline"));
}

TEST_F(Checkpointing, RemovesPartialFilesOfAKilledRun) {
  make_folder(at("c") / "step-00000001.partial");
  train({}, reference_alone, at("c"));
  EXPECT_FALSE(fs::exists(at("c") / "step-00000001.partial"));
  EXPECT_EQ(whole_checkpoints(at("c")).size(), 3U);
}

TEST_F(Checkpointing, RefusesARunThatKeepsNothing) {
  ReferenceOptions options;
  options.run_file = run_file({});
  options.progress = false;
  EXPECT_THAT(error_of<InputError>([&] { train_reference(options); }), HasSubstr("nothing of this run would be saved"));
}

}  // namespace
}  // namespace plumbline
