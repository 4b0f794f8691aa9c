// SPDX-License-Identifier: BSD-3-Clause
// Sweeps whose launcher or trainers run something other than the case requests, and run it correctly: every bit matches
// the reference, so only the comparison with the request can detect it.
#include <gmock/gmock.h>

#include <ostream>

#include "record/verdict.hpp"
#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Asked : public ::testing::Test {
 protected:
  Asked() {
    std::string run = read_file(fixtures_path() + "/runs/quick.toml");
    for (const char* part : {"models", "corpus"}) {
      const std::string from = std::string("../") + part;
      run.replace(run.find(from), from.size(), std::string(fixtures_path() + "/") + part);
    }
    folder_.file("quick.toml", run);
    trainers_ = bin();
  }

  fs::path script(const std::string& name, const std::string& body) {
    const fs::path path = folder_.file(name, "#!/bin/bash\nset -e\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  /// A sweep of one case (1F1B, two ranks), started by `launcher`. Its arguments are the world size, then the trainer
  /// and the trainer's arguments.
  Ended sweep(const std::string& launcher, const std::string& cell = "schedule = \"1f1b\"\nworld_size = 2\n") {
    const auto program = script("launcher", "world=$1; shift\n" + launcher);
    const auto file = folder_.file(
        "asked.toml", "launcher = \"" + program.string() + " {world}\"\n[[cell]]\nrun = \"quick.toml\"\n" + cell);
    return end_of(bin() + "/plumbline sweep " + file.string() + " --trainers " + trainers_.string() + " --out " +
                      (folder_ / "out").string(),
                  folder_.path());
  }

  CheckResult as_asked() {
    const Verdict verdict = read_verdict(folder_ / "out/verdict.json");
    EXPECT_EQ(verdict.cells.size(), 1U);
    if (verdict.cells.empty() || verdict.cells[0].checks.empty()) return {};
    EXPECT_EQ(verdict.cells[0].checks[0].name, "as_asked");
    return verdict.cells[0].checks[0];
  }

  void expect_red(const Ended& ended, const std::string& item) {
    EXPECT_EQ(ended.code, 1) << ended.output;
    const CheckResult check = as_asked();
    EXPECT_EQ(check.outcome, Outcome::differs) << check.reason;
    ASSERT_TRUE(check.first_divergence);
    EXPECT_EQ(check.first_divergence->item, item) << check.reason;
    EXPECT_THAT(ended.output, HasSubstr("requested was"));
  }

  TemporaryFolder folder_;
  fs::path trainers_;
};

TEST_F(Asked, ACorrectLauncherHolds) {
  const Ended ended = sweep("exec \"$@\" --transport threads --ranks $world\n");

  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(as_asked().outcome, Outcome::holds) << as_asked().reason;
}

TEST_F(Asked, DetectsFewerRanks) {
  expect_red(sweep("exec \"$@\" --transport threads --ranks 1\n"), "world_size");
}

TEST_F(Asked, DetectsMoreRanks) {
  expect_red(sweep("exec \"$@\" --transport threads --ranks 3\n"), "world_size");
}

TEST_F(Asked, DetectsAnotherSchedule) {
  expect_red(sweep("exec \"$@\" --transport threads --ranks $world --schedule afab\n"), "schedule.name");
}

TEST_F(Asked, DetectsADroppedBalance) {
  expect_red(sweep("sed -i /^balance/d $2\nexec \"$@\" --transport threads --ranks $world\n",
                   "schedule = \"1f1b\"\nworld_size = 2\nbalance = [1, 4]\n"),
             "stages");
}

/// Both trainers run the same wrong thing, so comparing the two detects nothing.
struct BothAlike {
  const char* edit;  ///< a sed command on the run file of both trainers
  const char* item;
};

void PrintTo(const BothAlike& requested, std::ostream* out) {
  *out << requested.edit;
}

class AskedOfBoth : public Asked, public ::testing::WithParamInterface<BothAlike> {};

TEST_P(AskedOfBoth, IsDetected) {
  fs::create_directory(folder_ / "bin");
  for (const std::string name : {"plumbline-reference", "plumbline-pipeline"}) {
    script("bin/" + name, "[ -f \"$1\" ] && sed -i '" + std::string(GetParam().edit) + "' \"$1\"\nexec " + bin() + "/" +
                              name + " \"$@\"\n");
  }
  trainers_ = folder_ / "bin";

  expect_red(sweep("exec \"$@\" --transport threads --ranks $world\n"), GetParam().item);
}

INSTANTIATE_TEST_SUITE_P(
    TrainersThat, AskedOfBoth,
    ::testing::Values(BothAlike{"s/^steps = 3/steps = 2/", "steps"}, BothAlike{"s/^clip_norm.*//", "clip_norm"},
                      BothAlike{"s/^\\[data\\]/[data]\\nseed = 5/", "ids and labels of microbatch 0"},
                      BothAlike{"s/^masked.*//", "valid_tokens of microbatch 1"}),
    [](const auto& each) { return "Case" + std::to_string(each.index); });

TEST_F(Asked, ALauncherThatStartsNothingDoesNotHold) {
  const Ended ended = sweep("exit 0\n");

  EXPECT_NE(ended.code, 0) << ended.output;
  EXPECT_TRUE(fs::exists(folder_ / "out/launches/quick-1f1b-w2/request.json"));
}

}  // namespace
}  // namespace plumbline::testing
