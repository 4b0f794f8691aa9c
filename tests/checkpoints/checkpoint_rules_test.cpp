// SPDX-License-Identifier: BSD-3-Clause
// Which checkpoints are refused, and what a run leaves behind if it cannot save.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/unit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
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
using testing::error_of;
using ::testing::HasSubstr;

class CheckpointRules : public ::testing::Test {
 protected:
  /// The run file of a short training, with the text `from` in it replaced.
  fs::path run_file(const std::string& from = "", const std::string& to = "") {
    std::string text =
        "[model]\nconfig = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n[data]\ntext = \"" +
        testing::fixtures_path() +
        "/corpus/\"\nlengths = [9, 4]\n[train]\nsteps = 3\nwarmup_steps = 1\nstart_factor = 0.5\nclip_norm = 1.0\n";
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return folder_.file("run.toml", text.replace(at, from.size(), to));
  }

  ReferenceOptions options(const std::string& into) {
    ReferenceOptions made;
    made.run_file = run_file();
    made.checkpoint.folder = folder_ / into;
    made.checkpoint.every = 1;
    made.progress = false;
    return made;
  }
  void train(const std::string& into, const fs::path& resume = "none") {
    ReferenceOptions requested = options(into);
    requested.checkpoint.resume = resume;
    train_reference(requested);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CheckpointRules, LatestNeedsAFolder) {
  ReferenceOptions requested = options("c");
  requested.checkpoint = {};
  requested.record = folder_ / "r";
  requested.checkpoint.resume = "latest";
  EXPECT_THAT(error_of<InputError>([&] { train_reference(requested); }), HasSubstr("run.toml names no folder"));
}

TEST_F(CheckpointRules, SetChangesASettingOnResume) {
  train("c");
  const auto resumed = [&](int ranks, const std::string& into, std::vector<std::string> assignments) {
    CheckpointOptions requested;
    requested.folder = folder_ / into;
    requested.resume = folder_ / "c/step-00000002";
    requested.assignments = std::move(assignments);
    train_on(ranks, run_file(), requested, "1f1b");
    return read_json(folder_ / into / "latest" / checkpoint_file_name);
  };
  const Json as_before = resumed(reference_alone, "same", {});
  const std::vector<std::string> changed{"train.learning_rate = 5e-4", "train.clip_norm=0.25"};
  const Json reference = resumed(reference_alone, "reference", changed), pipeline = resumed(2, "pipeline", changed);

  EXPECT_EQ(as_before.at("changes"), Json::array());
  EXPECT_NE(as_before.at("digests"), reference.at("digests"));
  EXPECT_EQ(pipeline.at("digests"), reference.at("digests"));
  EXPECT_EQ(reference.at("changes"), Json::parse(R"([{"step": 2, "key": "train.clip_norm", "from": "1.0", "to": "0.25"},
                            {"step": 2, "key": "train.learning_rate", "from": "0.001", "to": "0.0005"}])"));
  EXPECT_EQ(column(folder_ / "reference/metrics.csv", "learning_rate").back(), "0.00025");
}

TEST_F(CheckpointRules, SetChangesNoOtherSetting) {
  train("c");
  const auto refused = [&](const std::string& assignment) {
    ReferenceOptions requested = options("x");
    requested.checkpoint.resume = folder_ / "c/step-00000002";
    requested.checkpoint.assignments = {assignment};
    return error_of<InputError>([&] { train_reference(requested); });
  };
  EXPECT_THAT(refused("train.seed=2"), HasSubstr("was trained with train.seed = 1, and "));
  EXPECT_THAT(refused("train.sede=2"), HasSubstr("--set train.sede=2: unknown key train.sede"));
  EXPECT_THAT(refused("train.steps=none"), HasSubstr("--set train.steps=none, key train.steps: must be an integer"));
  EXPECT_THAT(refused("steps=2"), HasSubstr("write TABLE.KEY=VALUE"));
}

TEST_F(CheckpointRules, RefusesChangedSettingsThatAffectBits) {
  train("c");
  const auto refused = [&](const std::string& from, const std::string& to) {
    ReferenceOptions other = options("x");
    other.run_file = run_file(from, to);
    other.checkpoint.resume = folder_ / "c/step-00000002";
    return error_of<InputError>([&] { train_reference(other); });
  };
  EXPECT_THAT(refused("warmup_steps = 1", "warmup_steps = 2"), HasSubstr("train.warmup_steps = 1, and "));
  EXPECT_THAT(refused("start_factor = 0.5", "start_factor = 0.25"), HasSubstr("train.start_factor = 0.5, and "));
  EXPECT_THAT(refused("clip_norm = 1.0", "clip_norm = 2.0"), HasSubstr("train.clip_norm = 1.0, and "));
  EXPECT_THAT(refused("clip_norm = 1.0", ""), AllOf(HasSubstr("train.clip_norm = 1.0, and "), HasSubstr("has null")));
  EXPECT_THAT(refused("[data]", "[data]\nseed = 2"), HasSubstr("data.seed = 1, and "));
  EXPECT_THAT(refused("[data]", "[data]\nmasked = [1]"), AllOf(HasSubstr("data.masked"), HasSubstr("absent")));
  EXPECT_THAT(refused("[data]", "[data]\nshuffle = \"windows\""), HasSubstr("data.shuffle = absent, and "));
  EXPECT_THAT(refused("[9, 4]", "[8, 4]"), HasSubstr("data.lengths.0.0 = 9, and "));
  EXPECT_THAT(refused("/corpus/", "/corpus/01-the-plumb-line.txt"), HasSubstr("data.source_tokens = "));

  for (const auto& each : fs::directory_iterator(testing::fixtures_path() + "/corpus")) {  // equal size, other letters
    std::string text = testing::bytes_of(each.path());
    std::ranges::replace(text, 'e', 'i');
    folder_.file("other/" + each.path().filename().string(), text);
  }
  EXPECT_THAT(refused(testing::fixtures_path() + "/corpus/", (folder_ / "other/").string()),
              HasSubstr("data.first_microbatch_digest = "));
}

TEST_F(CheckpointRules, NamesAFolderThatIsNotACheckpoint) {
  train("c");
  const fs::path file = folder_ / "c/latest/checkpoint.json";
  const Json whole = read_json(file);
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json changed = whole;
    change(changed);
    write_json(file, changed);
    return error_of<InputError>([&] { read_checkpoint_file(folder_ / "c/latest"); });
  };
  EXPECT_THAT(refused([](Json& json) { json = Json::array(); }), HasSubstr("is not a checkpoint.json"));
  EXPECT_THAT(refused([](Json& json) { json.erase("schema"); }), HasSubstr("is not a checkpoint.json"));
  EXPECT_THAT(refused([](Json& json) { json["schema"] = 1; }), HasSubstr("is not a checkpoint.json"));
  EXPECT_THAT(refused([](Json& json) { json["schema"] = "plumbline-record/1"; }),
              HasSubstr("schema plumbline-record/1 is not a checkpoint's"));
  const char* const lacks = "lacks steps, training or digests";
  for (const char* key : {"steps", "training", "digests"}) {
    EXPECT_THAT(refused([&](Json& json) { json.erase(key); }), HasSubstr(lacks)) << key;
    EXPECT_THAT(refused([&](Json& json) { json[key] = "x"; }), HasSubstr(lacks)) << key;
  }
  EXPECT_THAT(refused([](Json& json) { json["steps"] = 0; }), HasSubstr(lacks));
  EXPECT_THAT(refused([](Json& json) { json["steps"] = 1.5; }), HasSubstr(lacks));
  EXPECT_THAT(refused([](Json& json) { json["steps"] = 1; }), HasSubstr("steps is 1, but the folder's name says 3"));
  EXPECT_THAT(refused([](Json& json) { json["digests"]["model.norm.weight"] = 7; }),
              HasSubstr("digest of model.norm.weight is not a string"));
  EXPECT_THAT(refused([](Json& json) { json["changes"] = 7; }), HasSubstr("changes is not a list"));
  fs::remove(file);
  EXPECT_THAT(error_of<InputError>([&] { read_checkpoint_file(folder_ / "c/latest"); }),
              HasSubstr("it is an incomplete checkpoint, or none"));
}

TEST_F(CheckpointRules, RefusesATensorWithoutADigest) {
  train("c");
  const fs::path checkpoint = folder_ / "c/step-00000002";
  for (const char* name : {"model.norm.weight", "moment2/model.norm.weight"}) {
    const Json whole = read_json(checkpoint / "checkpoint.json");
    Json changed = whole;
    ASSERT_EQ(changed["digests"].erase(name), 1U);
    write_json(checkpoint / "checkpoint.json", changed);
    EXPECT_THAT(error_of<InputError>([&] { train("x", checkpoint); }),
                HasSubstr(std::string(name) + ": is not what was written"));
    write_json(checkpoint / "checkpoint.json", whole);
  }
}

TEST_F(CheckpointRules, LatestIsUnchangedIfAnotherRunResumesAnOlderOne) {
  train("c");
  train("d", folder_ / "c/step-00000001");
  EXPECT_EQ(fs::read_symlink(folder_ / "c/latest"), "step-00000003");
}

TEST_F(CheckpointRules, FindsOnlyCompleteCheckpoints) {
  for (const char* name : {"step-00000001", "step-00000002.partial", "kept-00000007"}) {
    folder_.file(std::string(name) + "/checkpoint.json", "{}");
  }
  make_folder(folder_ / "step-00000003");
  fs::create_directory_symlink("step-00000001", folder_ / "step-00000004");
  EXPECT_THAT(whole_checkpoints(folder_.path()), ElementsAre(folder_ / "step-00000001"));
}

TEST_F(CheckpointRules, CommandLineSetsTheNumberKept) {
  ReferenceOptions requested = options("c");
  requested.checkpoint.keep = 1;
  train_reference(requested);
  EXPECT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(folder_ / "c/step-00000003"));
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

TEST_F(CheckpointRules, SaveOptionsNeedAFolder) {
  for (const bool every : {true, false}) {
    ReferenceOptions requested = options("c");
    requested.checkpoint = {};
    requested.record = folder_ / "record";
    (every ? requested.checkpoint.every : requested.checkpoint.keep) = 1;
    EXPECT_THAT(error_of<InputError>([&] { train_reference(requested); }),
                HasSubstr("--checkpoint-every and --checkpoint-keep need a folder"));
  }
}

TEST_F(CheckpointRules, RemovesOnlyTheRunsOwnPartialFiles) {
  for (const char* name : {"c/metrics.csv.7.partial", "c/.seen.7.partial", "c/notes.partial"}) folder_.file(name, "");
  train("c");
  EXPECT_FALSE(fs::exists(folder_ / "c/metrics.csv.7.partial"));
  EXPECT_FALSE(fs::exists(folder_ / "c/.seen.7.partial"));
  EXPECT_TRUE(fs::exists(folder_ / "c/notes.partial"));
  EXPECT_FALSE(fs::exists(folder_ / "c/.seen"));
}

TEST_F(CheckpointRules, StoppingAtTheLastStepCompletesTheTraining) {
  ReferenceOptions requested = options("c");
  requested.record = folder_ / "record";
  requested.checkpoint.stop_after = 3;
  ::testing::internal::CaptureStderr();
  train_reference(requested);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::Not(HasSubstr("stopped")));
  EXPECT_EQ(read_json(folder_ / "record/rank-0/exit.json").at("status"), "ok");
}

TEST_F(CheckpointRules, AFailedLastSaveFailsTheRun) {
  folder_.file("c/latest/x", "");  // a folder in the place of the link
  ::testing::internal::CaptureStderr();
  const std::string failed = error_of<SystemError>([&] { train("c"); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("warning: no checkpoint after step 0: "));
  EXPECT_THAT(failed, AllOf(HasSubstr("the last checkpoint could not be saved"), HasSubstr("latest")));
  folder_.file("d/latest/x", "");
  CheckpointOptions saving;
  saving.folder = folder_ / "d";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_on(2, run_file(), saving, "1f1b"), 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("the last checkpoint could not be saved"));
}

TEST_F(CheckpointRules, RefusesMetricsWithOtherColumns) {
  train("c");
  folder_.file("c/metrics.csv", "step,loss\n0,5\n");
  EXPECT_THAT(error_of<InputError>([&] { train("c", "latest"); }),
              HasSubstr("metrics.csv: is not a metrics file of this kind"));
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
