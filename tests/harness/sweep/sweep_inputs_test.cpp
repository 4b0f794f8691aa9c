// SPDX-License-Identifier: BSD-3-Clause
// Inputs of a sweep must not change from its first run to its last.
#include "harness/sweep/sweep_inputs.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class InputsOfASweep : public ::testing::Test {
 protected:
  InputsOfASweep() {
    for (const char* name : {"one", "other"}) files_.fixed_hash_of(folder_.file(name, "program"));
  }
  std::string refusal() {
    return error_of<SystemError>([&] { files_.require_unchanged(); });
  }
  void date(const std::string& name, int seconds) {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() + std::chrono::seconds(seconds));
  }

  TemporaryFolder folder_;
  SweepInputs files_;
};

TEST_F(InputsOfASweep, ARewrittenProgramWithTheSameBytesIsUnchanged) {
  EXPECT_NO_THROW(files_.require_unchanged());
  date("one", 60);
  fs::remove(folder_ / "other");
  folder_.file("other", "program");
  EXPECT_NO_THROW(files_.require_unchanged());
}

TEST_F(InputsOfASweep, ChangedAndMissingInputsAreNamed) {
  folder_.file("other", "program 2");
  EXPECT_THAT(refusal(), HasSubstr((folder_ / "other").string() + " changed after the sweep began"));
  folder_.file("other", "program");
  EXPECT_NO_THROW(files_.require_unchanged());
  fs::remove(folder_ / "one");
  EXPECT_THAT(refusal(), HasSubstr("/one changed after the sweep began"));
}

TEST_F(InputsOfASweep, AFileOfTheSameSizeIsReadAgainIfItsTimeOrPlaceDiffers) {
  const auto time = fs::last_write_time(folder_ / "one");
  folder_.file("one", "PROGRAM");
  fs::last_write_time(folder_ / "one", time + std::chrono::seconds(60));  // same modification time to the nanosecond
  EXPECT_THAT(refusal(), HasSubstr("/one changed after the sweep began"));

  fs::rename(folder_ / "one", folder_ / "elsewhere");
  folder_.file("new", "PROGRAM");
  fs::rename(folder_ / "new", folder_ / "one");
  fs::last_write_time(folder_ / "one", time);
  EXPECT_THAT(refusal(), HasSubstr("/one changed after the sweep began"));
}

TEST_F(InputsOfASweep, ARepeatedQuestionGetsTheFirstAnswer) {
  const std::string first = files_.hash_of(folder_.file("settings", "as read"));
  EXPECT_EQ(files_.fixed_hash_of(folder_.file("settings", "as edited")), first);
  EXPECT_THAT(refusal(), HasSubstr("/settings changed after the sweep began"));
}

TEST_F(InputsOfASweep, AnInputThatIsNotWatchedMayChange) {
  const fs::path log = folder_.file("log", "begun\n");
  EXPECT_EQ(files_.hash_of(log), file_hash(log));
  folder_.file("log", "begun\nended\n");
  EXPECT_NO_THROW(files_.require_unchanged());
}

TEST_F(InputsOfASweep, AModelInSeveralFilesChangesWithAnyOfThem) {
  folder_.file("model/1.safetensors", "weights");
  folder_.file("model/2.safetensors", "weights");
  files_.fixed_hash_of(folder_ / "model");
  EXPECT_NO_THROW(files_.require_unchanged());

  folder_.file("model/2.safetensors", "WEIGHTS");
  date("model/2.safetensors", 60);
  EXPECT_THAT(refusal(), HasSubstr("/model changed after the sweep began"));

  folder_.file("model/2.safetensors", "weights");
  EXPECT_NO_THROW(files_.require_unchanged());
}

}  // namespace
}  // namespace plumbline::testing
