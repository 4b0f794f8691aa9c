// SPDX-License-Identifier: BSD-3-Clause
// A run does not start before the work that its folder already contains, unless an option sets that work aside.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/metrics_file.hpp"
#include "training/run_description.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LaterWork : public ::testing::Test {
 protected:
  /// A training of 12 steps, saved after steps 4, 8 and 12.
  fs::path run_file(int seed = 1) {
    return folder_.file("run.toml",
                        "[model]\nconfig = \"" + testing::fixtures_path() +
                            "/models/stories260k/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                            "/corpus/\"\nlengths = [9, 4]\n[train]\nsteps = 12\nseed = " + std::to_string(seed) +
                            "\n[checkpoint]\nevery = 4\n");
  }
  CheckpointOptions in(const std::string& name, const fs::path& resume = "none") {
    CheckpointOptions options;
    options.folder = folder_ / name;
    options.resume = resume;
    return options;
  }
  int train(const CheckpointOptions& options, int ranks = reference_alone, int seed = 1) {
    return train_on(ranks, run_file(seed), options, "1f1b");
  }
  std::string refused(const CheckpointOptions& options) {
    return error_of<InputError>([&] { train(options); });
  }
  fs::path step(const std::string& name, std::int64_t steps) { return checkpoint_path(folder_ / name, steps); }
  fs::path discarded(const std::string& name, std::int64_t steps) { return step(name, steps).string() + ".discarded"; }

  testing::TemporaryFolder folder_;
};

TEST_F(LaterWork, ASecondTrainingInTheFolderIsRefused) {
  train(in("c"));
  const std::string metrics = read_file(folder_ / "c/metrics.csv");

  EXPECT_THAT(refused(in("c")), AllOf(HasSubstr("holds step-00000012, step-00000008, step-00000004, 12 rows of "
                                                "metrics.csv, but this run starts at step 0"),
                                      HasSubstr("--resume latest"), HasSubstr("--discard-later")));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train(in("c"), 2), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("holds step-00000012"));

  EXPECT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(step("c", 12), step("c", 8), step("c", 4)));
  EXPECT_EQ(read_file(folder_ / "c/metrics.csv"), metrics);
}

TEST_F(LaterWork, ASecondTrainingMaySetTheFirstAside) {
  train(in("c"));
  const std::string metrics = read_file(folder_ / "c/metrics.csv");
  const auto first = read_checkpoint_file(step("c", 12)).digests;
  CheckpointOptions second = in("c");
  second.discard_later = true;
  second.keep = 1;
  second.stop_after = 2;

  for (const int seed : {2, 3}) {
    const int ranks = seed == 2 ? reference_alone : 2;
    EXPECT_EQ(train(second, ranks, seed), 0);
    EXPECT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(step("c", 2)));
    EXPECT_EQ(fs::read_symlink(folder_ / "c/latest"), "step-00000002");
    EXPECT_EQ(read_checkpoint_file(step("c", 2)).settings.at("train").at("seed"), seed);
  }

  EXPECT_EQ(read_checkpoint_file(discarded("c", 12)).digests, first);
  EXPECT_TRUE(fs::exists(discarded("c", 2)));
  EXPECT_EQ(read_file(folder_ / "c/metrics.csv.discarded"), metrics);
  EXPECT_THAT(column(folder_ / "c/metrics.csv.discarded-2", "step"), ElementsAre("0", "1"));
  EXPECT_THAT(column(folder_ / "c/metrics.csv", "step"), ElementsAre("0", "1"));
}

TEST_F(LaterWork, ARunThatGoesBackIsRefusedOrContinuesThere) {
  train(in("c"));
  const auto whole = read_checkpoint_file(step("c", 12)).digests;
  CheckpointOptions back = in("c", step("c", 4));
  back.keep = 1;
  back.stop_after = 6;

  EXPECT_THAT(refused(back), AllOf(HasSubstr("holds step-00000012, step-00000008, but this run starts after step 4"),
                                   Not(HasSubstr("step-00000004"))));
  EXPECT_EQ(whole_checkpoints(folder_ / "c").size(), 3U);

  back.discard_later = true;
  EXPECT_EQ(train(back), 0);
  EXPECT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(step("c", 6)));
  EXPECT_EQ(fs::read_symlink(folder_ / "c/latest"), "step-00000006");
  EXPECT_TRUE(fs::exists(discarded("c", 12)) && fs::exists(discarded("c", 8)));
  EXPECT_EQ(column(folder_ / "c/metrics.csv.discarded", "step").size(), 12U);

  EXPECT_EQ(train(in("c", "latest"), 2), 0);
  EXPECT_EQ(read_checkpoint_file(folder_ / "c/latest").digests, whole);
  EXPECT_EQ(column(folder_ / "c/metrics.csv", "step").size(), 12U);
}

TEST_F(LaterWork, RowsWithoutACheckpointAreRefusedToo) {
  train(in("c"));
  for (const fs::path& each : whole_checkpoints(folder_ / "c")) fs::remove_all(each);
  fs::remove(folder_ / "c/latest");

  EXPECT_THAT(refused(in("c")), HasSubstr("holds 12 rows of metrics.csv, but this run starts at step 0"));
  EXPECT_EQ(train(in("c", "latest")), 0) << "killed before its first checkpoint, it repeats these steps";
}

TEST_F(LaterWork, AllWorkOfAnotherFoldersTrainingIsLater) {
  train(in("c"));
  CheckpointOptions short_one = in("d");
  short_one.stop_after = 2;
  train(short_one, reference_alone, 2);

  EXPECT_THAT(refused(in("d", step("c", 4))), HasSubstr("holds step-00000002, 2 rows of metrics.csv, but this run "
                                                        "starts after step 4"));
}

TEST_F(LaterWork, ADamagedNewestIsSetAside) {
  train(in("c"));
  const auto whole = read_checkpoint_file(step("c", 12)).digests;
  fs::remove(step("c", 12) / "model-00001-of-00001.safetensors");
  CheckpointOptions again = in("c", "latest");
  again.keep = 1;
  again.stop_after = 10;

  EXPECT_EQ(train(again), 0);

  EXPECT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(step("c", 10)));
  EXPECT_TRUE(fs::exists(discarded("c", 12)));
  EXPECT_EQ(train(in("c", "latest")), 0);
  EXPECT_EQ(read_checkpoint_file(folder_ / "c/latest").digests, whole);
}

TEST_F(LaterWork, CheckReportsLaterWork) {
  train(in("c"));
  const auto check = [&](const CheckpointOptions& options) {
    auto run = load_run(run_file(), {});
    options.use_in(run, true);
    check_inputs(run, {});
  };
  EXPECT_THAT(error_of<InputError>([&] { check(in("c")); }), HasSubstr("but this run starts at step 0"));
  EXPECT_THAT(error_of<InputError>([&] { check(in("c", step("c", 8))); }), HasSubstr("holds step-00000012, but"));
  EXPECT_NO_THROW(check(in("c", "latest")));
  EXPECT_NO_THROW(check(in("c", step("c", 12))));
  CheckpointOptions setting_aside = in("c");
  setting_aside.discard_later = true;
  EXPECT_NO_THROW(check(setting_aside));
}

TEST_F(LaterWork, DiscardingNeedsAFolder) {
  const std::string text = read_file(run_file());
  auto run = load_run(folder_.file("run.toml", text.substr(0, text.find("[checkpoint]"))), {});
  CheckpointOptions options;
  options.discard_later = true;
  EXPECT_THAT(error_of<InputError>([&] { options.use_in(run, true); }), HasSubstr("--discard-later needs the"));
}

// metrics.csv grows with the run: a limit for files that people write would refuse to resume it.
TEST_F(LaterWork, RowsOfALongRunAreCounted) {
  constexpr std::int64_t rows = 200'000;
  std::string text = "step\n";
  for (std::int64_t row = 0; row < rows; ++row) text += std::string(99, '1') + "\n";
  ASSERT_GT(text.size(), most_by_hand);
  write_file(folder_ / "metrics.csv", text);

  EXPECT_EQ(metrics_rows(folder_.path()), rows);
}

}  // namespace
}  // namespace plumbline
