// SPDX-License-Identifier: BSD-3-Clause
// A training that is stopped and resumed, on other ranks and settings, has the bits of one that was never stopped.
// Ranks are threads.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/folder_lock.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Checkpointing : public ::testing::Test {
 protected:
  /// Trains three steps and saves each in `into`. `ranks` 0: the reference. `lines`: more of [train].
  int train(const std::string& lines, int ranks, const fs::path& into, const std::string& resume = "none",
            const std::string& schedule = "1f1b") {
    CheckpointOptions checkpoint;
    checkpoint.folder = into;
    checkpoint.every = 1;
    checkpoint.resume = resume;
    const std::string text =
        testing::run_text("lengths = [9, 4, 6, 5]\nbatch = 2\n" + data_,
                          "steps = 3\nlearning_rate = 1e-3\nwarmup_steps = 1\nclip_norm = 1.0\n" + lines, model_);
    return train_on(ranks, folder_.file("run.toml", text), checkpoint, schedule);
  }

  static std::map<std::string, std::string> digests(const fs::path& checkpoint) {
    return read_checkpoint_file(checkpoint).digests;
  }
  fs::path at(const std::string& name) const { return folder_ / name; }

  /// Stopped twice, with other lines in between.
  void expect_equal_bits(const std::string& lines, const std::string& between) {
    train(lines, reference_alone, at("whole"));
    const auto whole = digests(at("whole") / "latest");
    ASSERT_EQ(train(between, 3, at("three"), checkpoint_path(at("whole"), 1), "zb-v"), 0);
    EXPECT_EQ(digests(at("three") / "latest"), whole);
    ASSERT_EQ(train(lines, 2, at("two"), checkpoint_path(at("three"), 2)), 0);
    EXPECT_EQ(digests(at("two") / "latest"), whole);
    train(lines, reference_alone, at("one"), checkpoint_path(at("three"), 2));
    EXPECT_EQ(digests(at("one") / "latest"), whole);
  }

  std::string data_;  ///< more lines of [data]
  std::string model_ = "stories260k";
  testing::TemporaryFolder folder_;
};

TEST_F(Checkpointing, AnyNumberOfRanksResumesAnyOther) {
  train("", reference_alone, at("whole"));
  const auto whole = digests(at("whole") / "latest");
  ASSERT_EQ(whole.size(), 3U * 47U);
  const std::vector<std::string> schedules{"1f1b", "zb-h1", "zb-v", "afab"};
  for (int from = 0; from <= 8; ++from) {
    const fs::path saved = at("from" + std::to_string(from));
    ASSERT_EQ(train("", from, saved, "none", schedules[static_cast<std::size_t>(from) % 4]), 0);
    ASSERT_EQ(digests(saved / "latest"), whole) << from << " ranks, never stopped";
    for (int to = 0; to <= 8; ++to) {
      const fs::path into = at("to" + std::to_string(from) + std::to_string(to));
      const fs::path stopped = checkpoint_path(saved, 1 + (from + to) % 2);
      ASSERT_EQ(train("", to, into, stopped, schedules[static_cast<std::size_t>(to + 1) % 4]), 0);
      EXPECT_EQ(digests(into / "latest"), whole) << from << " to " << to << " ranks from " << stopped;
      fs::remove_all(into);
    }
  }
}

TEST_F(Checkpointing, AShuffledRunResumesInItsOrder) {
  train("", reference_alone, at("plain"));
  data_ = "shuffle = \"windows\"\n";
  expect_equal_bits("", "");
  EXPECT_NE(digests(at("whole") / "latest"), digests(at("plain") / "latest"));
}

TEST_F(Checkpointing, RecomputationMayChangeOnResume) {
  expect_equal_bits("", "recompute = \"layer\"\n");
}

class EachKind : public Checkpointing,
                 public ::testing::WithParamInterface<std::tuple<bool, std::string, std::string>> {};

TEST_P(EachKind, ResumesWithEqualBits) {
  const auto& [tied, optimizer, dtype] = GetParam();
  if (!tied) model_ = "untied-128";
  const std::string lines =
      "optimizer = \"" + optimizer + "\"\ndtype = \"" + dtype + "\"\n" + (optimizer == "sgd" ? "momentum = 0.9\n" : "");
  expect_equal_bits(lines, lines);
}

INSTANTIATE_TEST_SUITE_P(All, EachKind,
                         ::testing::Combine(::testing::Bool(), ::testing::Values("adamw", "sgd"),
                                            ::testing::Values("float32", "float64", "bfloat16", "mixed")));

TEST_F(Checkpointing, TwoRunsDoNotSaveIntoOneFolder) {
  make_folder(at("c"));
  const FolderLock other(at("c"));

  EXPECT_THAT(testing::error_of<InputError>([&] { train("", reference_alone, at("c")); }),
              HasSubstr("another plumbline"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train("", 2, at("c")), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("another plumbline"));
}

}  // namespace
}  // namespace plumbline
