// SPDX-License-Identifier: BSD-3-Clause
// What lies in a folder of checkpoints, and ranks that cannot write there.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "model/unit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
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
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class CheckpointRules : public ::testing::Test {
 protected:
  fs::path run_file() { return folder_.file("run.toml", testing::run_text("lengths = [9, 4]\n", "steps = 3\n")); }

  testing::TemporaryFolder folder_;
};

TEST_F(CheckpointRules, FindsOnlyCompleteCheckpoints) {
  for (const char* name : {"step-00000001", "step-00000002.partial", "kept-00000007"}) {
    folder_.file(std::string(name) + "/checkpoint.json", "{}");
  }
  make_folder(folder_ / "step-00000003");
  fs::create_directory_symlink("step-00000001", folder_ / "step-00000004");
  EXPECT_THAT(whole_checkpoints(folder_.path()), ElementsAre(folder_ / "step-00000001"));
}

TEST_F(CheckpointRules, PruningRemovesOlderCheckpointsCompleteOrNot) {
  for (const char* file :
       {"c/step-00000001/model", "c/step-00000002/checkpoint.json", "c/step-00000003/checkpoint.json",
        "c/step-00000004/checkpoint.json", "c/step-00000005/model"})
    folder_.file(file, "");
  prune_checkpoints(folder_ / "c", 2);
  EXPECT_THAT(all_checkpoints(folder_ / "c"),
              ElementsAre(folder_ / "c/step-00000005", folder_ / "c/step-00000004", folder_ / "c/step-00000003"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "c"), {}), 3);
}

/// Rank 0 of two, whose peer always answers the same.
class FirstOfTwo : public RankGroup {
 public:
  explicit FirstOfTwo(std::string peer_says) : peer_says_(std::move(peer_says)) {}
  int size() const override { return 2; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine, peer_says_}; }

 private:
  std::string peer_says_;
};

TEST_F(CheckpointRules, AFailedWriteOfOneRankInvalidatesTheCheckpoint) {
  const auto run = load_run(run_file(), {});
  LlamaSlice slice = make_slice(run, all_units(run.config));
  set_initial_values(slice, run.file);
  TrainState state(run.train.optimizer, slice.parameters());
  state.step = 1;
  make_folder(folder_ / "c");
  FirstOfTwo group("error the disk is full");
  CheckpointSave saving(folder_ / "c", run, group);
  saving.start(state, false);
  saving.finish();
  EXPECT_EQ(saving.failure(), "the disk is full");
  EXPECT_TRUE(fs::is_empty(folder_ / "c"));
}

/// Rank 1 of two: rank 0 made the folder, wrote its file there, and broadcasts rank 1's answer.
class SecondOfTwo : public RankGroup {
 public:
  int rank() const override { return 1; }
  int size() const override { return 2; }
  std::vector<std::string> gather(const std::string& mine) override {
    answers_.push_back(mine);
    return {};
  }
  std::string broadcast(const std::string& /*ignored*/) override { return answers_.at(next_++); }

 private:
  std::vector<std::string> answers_{"", "word"};
  std::size_t next_ = 0;
};

TEST_F(CheckpointRules, NamesARankThatDoesNotSeeRank0sFile) {
  auto run = load_run(run_file(), {});
  run.checkpoint.folder = folder_ / "c";
  const auto begin = [&] {
    SecondOfTwo group;
    const Checkpoints checkpoints(run, group);
  };
  const std::string blind =
      (folder_ / "c").string() + ": rank 1 does not see what rank 0 wrote there; name a folder that all machines share";
  EXPECT_EQ(error_of<InputError>(begin), blind) << "no such file";
  folder_.file("c/.seen", "another word");
  EXPECT_EQ(error_of<InputError>(begin), blind) << "the file is on another disk";
  folder_.file("c/.seen", "word");
  EXPECT_NO_THROW(begin());
}

TEST_F(CheckpointRules, AFolderThatCannotBeCreatedIsASystemError) {
  auto run = load_run(run_file(), {});
  run.checkpoint.folder = folder_.file("file", "in its place") / "c";
  RankGroup alone;
  EXPECT_THAT(error_of<SystemError>([&] { const Checkpoints checkpoints(run, alone); }),
              HasSubstr("the folder cannot be created"));
}

}  // namespace
}  // namespace plumbline
