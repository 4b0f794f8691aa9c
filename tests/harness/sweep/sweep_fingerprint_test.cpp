// SPDX-License-Identifier: BSD-3-Clause
// Input digests: a resumed sweep that misses a change would judge records of another trainer.
#include "harness/sweep/sweep_fingerprint.hpp"

#include <chrono>
#include <cstdlib>
#include <functional>

#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

SweepFingerprint with_shared(const std::map<std::string, std::string>& shared) {
  return {shared, {{"reference-a", "r"}, {"a-w1", "1"}, {"a-w2", "2"}}, "judge"};
}

TEST(ChangedSince, NamesAllThatIsShared) {
  const auto kept = with_shared({{"the environment", "e"}, {"the launcher", "l"}, {"the trainers", "t"}});

  EXPECT_EQ(changed_since(kept, kept), std::nullopt);
  EXPECT_EQ(changed_since(kept, with_shared({{"the environment", "x"}})), "the environment has changed");
  EXPECT_EQ(changed_since(kept, with_shared({{"the environment", "e"}, {"the trainers", "x"}})),
            "the trainers have changed");
  EXPECT_EQ(changed_since(kept, with_shared({{"the environment", "x"}, {"the launcher", "x"}})),
            "the environment and the launcher have changed");
  EXPECT_EQ(changed_since(kept, with_shared({{"the network", "n"}})), "the network has changed")
      << "of which nothing was kept";
}

TEST(ChangedSince, NamesTheRunAndNoneThatOnlyOneOfThemHas) {
  const auto kept = with_shared({});
  auto now = kept;
  now.runs["a-w3"] = "3";
  now.runs.erase("a-w1");
  EXPECT_EQ(changed_since(kept, now), std::nullopt);

  now.runs["reference-a"] = "x";
  EXPECT_THAT(*changed_since(kept, now), HasSubstr("what reference-a was made from has changed"));
}

TEST(KeptFingerprint, IsReadAsItWasWrittenOrRefused) {
  const auto wrote = with_shared({{"the trainers", "t"}});
  Json json = {{"fingerprint", to_json(wrote)}};
  const auto read = read_fingerprint(json, "sweep.json");
  EXPECT_EQ(read.shared, wrote.shared);
  EXPECT_EQ(read.runs, wrote.runs);
  EXPECT_EQ(read.judge, "judge");

  json["fingerprint"]["runs"]["a-w1"] = 7;
  EXPECT_THAT(error_of<InputError>([&] { read_fingerprint(json, "sweep.json"); }),
              AllOf(HasSubstr("runs"), HasSubstr("is not as this program writes it")));
}

/// A sweep of one user's command, ./train.sh settings.ini.
class FingerprintOf : public ::testing::Test {
 protected:
  FingerprintOf() {
    program(folder_, "train.sh", "exit 0\n");
    folder_.file("settings.ini", "one");
    file_.commands.emplace();
    PlannedCommand command;
    command.words = {"./train.sh", "settings.ini", "{how}"};
    command.environment = {{"MODE", "{how}"}};
    command.values = {{"how", "right"}};
    command.folder = folder_.path();
    plan_.references.push_back({"r", "theirs.toml", {}, {}, command});
    PlannedCell cell;
    cell.plan.id = "c";
    cell.command = command;
    plan_.cells.push_back(cell);
  }
  SweepFingerprint now(const char* trainers = "no-trainers") const {
    SweepInputs inputs;
    return fingerprint_of(file_, plan_, folder_ / trainers, "judge", inputs);
  }
  PlannedCell& cell() { return plan_.cells[0]; }
  PlannedCommand& reference() { return *plan_.references[0].command; }

  TemporaryFolder folder_;
  SweepFile file_;
  SweepPlan plan_;
};

TEST_F(FingerprintOf, TheSameIsTheSame) {
  EXPECT_EQ(to_json(now()), to_json(now()));
  EXPECT_EQ(now().judge, "judge");
  EXPECT_THAT(now().runs, ElementsAre(::testing::Key("c"), ::testing::Key("reference-r")));
  EXPECT_FALSE(now().shared.contains("the trainers")) << "which are not ours";
}

TEST_F(FingerprintOf, ACellIsAnotherWhereAnythingThatItIsAskedIs) {
  const auto before = now();
  const auto expect_another = [&](const char* what, const std::function<void()>& change) {
    const SweepPlan plan = plan_;
    change();
    const auto changed = now();
    EXPECT_NE(changed.runs.at("c"), before.runs.at("c")) << what;
    EXPECT_EQ(changed.runs.at("reference-r"), before.runs.at("reference-r")) << what;
    plan_ = plan;
  };
  expect_another("a word", [&] { cell().command->words.emplace_back("more"); });
  expect_another("a value", [&] { cell().command->values["how"] = "else"; });
  expect_another("a variable", [&] { cell().command->environment["MODE"] = "else"; });
  expect_another("what is asked without a placeholder", [&] { cell().command->values["steps"] = "3"; });
  expect_another("its ranks", [&] { cell().command->ranks = 4; });
  expect_another("its checks", [&] { cell().plan.checks = {"loss"}; });
  expect_another("its repeat", [&] { cell().plan.repeat = true; });
  EXPECT_EQ(to_json(now()), to_json(before));
}

TEST_F(FingerprintOf, AChangedReferenceMakesItsCellsOthers) {
  const auto before = now();
  reference().words.emplace_back("more");

  EXPECT_NE(now().runs.at("reference-r"), before.runs.at("reference-r"));
  EXPECT_NE(now().runs.at("c"), before.runs.at("c"));
}

TEST_F(FingerprintOf, AProgramAndAFileThatAWordNamesCountByWhatTheyHold) {
  const auto before = now();
  folder_.file("settings.ini", "two");
  const auto another_file = now();
  EXPECT_NE(another_file.runs.at("c"), before.runs.at("c"));

  folder_.file("settings.ini", "one");
  EXPECT_EQ(now().runs, before.runs);
  std::ofstream(folder_ / "train.sh", std::ios::app) << "# another\n";
  EXPECT_NE(now().runs.at("c"), before.runs.at("c"));
}

TEST_F(FingerprintOf, AProgramOnThePathCountsToo) {
  const std::string path = std::getenv("PATH");
  program(folder_, "some/their-train", "exit 0\n");
  const EnvironmentVariable searched("PATH", ((folder_ / "some").string() + ":" + path).c_str());
  cell().command->words = {"their-train"};
  const auto before = now();

  std::ofstream(folder_ / "some/their-train", std::ios::app) << "# another\n";

  EXPECT_NE(now().runs.at("c"), before.runs.at("c"));
}

// To read many GiB each time would take too long.
TEST_F(FingerprintOf, ALargeFileCountsByItsSizeAndTimeOfChange) {
  const fs::path file = folder_ / "settings.ini";
  fs::resize_file(file, 65 << 20);
  const auto time = fs::last_write_time(file);
  const auto before = now();

  { std::fstream(file, std::ios::in | std::ios::out) << "other"; }
  fs::last_write_time(file, time);
  EXPECT_EQ(now().runs, before.runs);
  fs::last_write_time(file, time + std::chrono::seconds(1));
  EXPECT_NE(now().runs, before.runs);
  fs::resize_file(file, (65 << 20) + 1);
  fs::last_write_time(file, time);
  EXPECT_NE(now().runs, before.runs);
}

TEST_F(FingerprintOf, DeviceAndTierAreShared) {
  const auto of = [&](const std::string& device, bool calibrated, bool mixed) {
    file_.device = device;
    file_.calibrated = calibrated;
    file_.mixed_gpus = mixed;
    return now().shared.at("device or tier");
  };
  EXPECT_EQ(of("cpu", false, false), "cpu");
  EXPECT_EQ(of("cuda", false, false), "cuda");
  EXPECT_EQ(of("cuda", true, false), "cuda, calibrated");
  EXPECT_EQ(of("cuda", true, true), "cuda, calibrated, mixed");
}

TEST_F(FingerprintOf, VariablesThatLibrariesReadAreSharedAndNoOthers) {
  const std::string before = now().shared.at("the environment");
  for (const char* variable : {"ATEN_X", "MKL_X", "OMPI_MCA_x", "PLUMBLINE_X"}) {
    const EnvironmentVariable first(variable, "1");
    const std::string one = now().shared.at("the environment");
    const EnvironmentVariable second(variable, "2");
    EXPECT_NE(one, before) << variable;
    EXPECT_NE(now().shared.at("the environment"), one) << variable;
  }
  const EnvironmentVariable another("HOLIDAY_TORCH_", "1");
  EXPECT_EQ(now().shared.at("the environment"), before);
}

TEST_F(FingerprintOf, TheLauncherCountsByItsWordsAndProgram) {
  EXPECT_EQ(now().shared.at("the launcher"), "") << "no command holds one";
  file_.launcher = program(folder_, "launch", "exit 0\n").string() + " -n {world}";
  const std::string before = now().shared.at("the launcher");

  EXPECT_NE(before, "");
  std::ofstream(folder_ / "launch", std::ios::app) << "# another\n";
  const std::string changed = now().shared.at("the launcher");
  EXPECT_NE(changed, before);
  file_.launcher += " --bind-to none";
  EXPECT_NE(now().shared.at("the launcher"), changed);
}

TEST_F(FingerprintOf, OurTrainersAreSharedWithTheirModules) {
  file_.commands.reset();
  plan_ = {};
  program(folder_, "ours/plumbline-reference", "exit 0\n");
  program(folder_, "ours/plumbline-pipeline", "exit 0\n");
  const auto of_ours = [&] { return now("ours").shared.at("the trainers"); };
  std::string before = of_ours();

  for (const char* part :
       {"plumbline-reference", "plumbline-pipeline", "module.so", "another.so", "module.so", "another.so"}) {
    std::ofstream(folder_ / ("ours/" + std::string(part)), std::ios::app) << "# more\n";
    const std::string after = of_ours();
    EXPECT_NE(after, before) << part;
    before = after;
  }
  folder_.file("ours/notes.txt", "");
  EXPECT_EQ(of_ours(), before);
}

/// A case of Plumbline's own trainers, a run of two segments.
class FingerprintOfOurs : public FingerprintOf {
 protected:
  FingerprintOfOurs() {
    program(folder_, "ours/plumbline-reference", "exit 0\n");
    program(folder_, "ours/plumbline-pipeline", "exit 0\n");
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    file_.commands.reset();
    plan_ = {};
    plan_.references.push_back({"r", run_file("steps = 4"), {}});
    PlannedCell cell;
    cell.plan.id = "c";
    cell.run = folder_ / "a.toml";
    cell.schedule = "1f1b";
    cell.resumes_from = PlannedStart{2, 1, "afab"};
    plan_.cells.push_back(cell);
  }
  fs::path run_file(const std::string& train) {
    return folder_.file("a.toml",
                        "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n[train]\n" + train + "\n");
  }
  std::map<std::string, std::string> runs() const { return now("ours").runs; }
};

TEST_F(FingerprintOfOurs, ACellIsAnotherWhereItOrItsFirstPartIs) {
  const auto before = runs();
  const SweepPlan plan = plan_;
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"schedule", [&] { cell().schedule = "afab"; }},
      {"steps of the first part", [&] { cell().resumes_from->steps = 3; }},
      {"ranks of the first part", [&] { cell().resumes_from->world = 2; }},
      {"schedule of the first part", [&] { cell().resumes_from->schedule = "1f1b"; }},
      {"no first part", [&] { cell().resumes_from.reset(); }},
      {"checks", [&] { cell().plan.checks = {"loss"}; }},
      {"clipping", [&] { cell().plan.clipping_must_act = true; }},
      {"repeat", [&] { cell().plan.repeat = true; }},
      {"bench", [&] { cell().plan.bench = true; }},
      {"balance", [&] {
         cell().changes.balance = {1, 1};
       }}};
  for (const auto& [what, change] : changes) {
    change();
    const auto now = runs();
    EXPECT_NE(now.at("c"), before.at("c")) << what;
    EXPECT_EQ(now.at("reference-r"), before.at("reference-r")) << what;
    plan_ = plan;
  }
  EXPECT_EQ(runs(), before);
}

TEST_F(FingerprintOfOurs, AReferenceIsAnotherWhereWhatItTrainsIsAndItsCellsWithIt) {
  auto before = runs();
  const auto expect_another = [&](const char* what) {
    const auto now = runs();
    EXPECT_NE(now.at("reference-r"), before.at("reference-r")) << what;
    EXPECT_NE(now.at("c"), before.at("c")) << what;
    before = now;
  };
  run_file("steps = 5");
  expect_another("run file");
  folder_.file("config.json", R"({"num_hidden_layers": 3})");
  expect_another("model");
  plan_.references[0].accumulation = "unit,microbatch\n";
  expect_another("order");
  plan_.references[0].splits_backward = true;
  expect_another("split backward");
  plan_.references[0].changes.optimizer = "sgd";
  expect_another("optimiser");
}

TEST_F(FingerprintOfOurs, EveryFileThatItReadsCounts) {
  folder_.file("model.safetensors", "weights");
  for (const char* name : {"ids.bin", "ids.idx", "held_out.bin", "first.csv", "cell.csv"}) folder_.file(name, "1");
  folder_.file("a.toml",
               "[model]\nconfig = \"config.json\"\nweights = \"model.safetensors\"\n[data]\nlengths = [4, 8]\n"
               "tokens = \"ids.bin\"\nvalidation = \"held_out.bin\"\n[train]\nsteps = 4\n");
  cell().schedule = (folder_ / "cell.csv").string();
  cell().resumes_from->schedule = (folder_ / "first.csv").string();
  auto before = runs();

  for (const char* name : {"config.json", "model.safetensors", "ids.bin", "ids.idx", "held_out.bin", "held_out.idx"}) {
    folder_.file(name, R"({"num_hidden_layers": 3})");
    const auto now = runs();
    EXPECT_NE(now.at("reference-r"), before.at("reference-r")) << name;
    EXPECT_NE(now.at("c"), before.at("c")) << name;
    before = now;
  }
  for (const char* name : {"cell.csv", "first.csv"}) {
    folder_.file(name, "2");
    const auto now = runs();
    EXPECT_EQ(now.at("reference-r"), before.at("reference-r")) << name;
    EXPECT_NE(now.at("c"), before.at("c")) << name;
    before = now;
  }
}

// The run file too, which is read again for each run.
TEST_F(FingerprintOfOurs, WhatItIsMadeFromMustStay) {
  for (const char* name : {"ids.bin", "first.csv", "cell.csv"}) folder_.file(name, "1");
  const fs::path run = folder_.file("a.toml",
                                    "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n"
                                    "tokens = \"ids.bin\"\n[train]\nsteps = 4\n");
  fs::copy(run, folder_ / "b.toml");
  cell().run = folder_ / "b.toml";
  cell().schedule = (folder_ / "cell.csv").string();
  cell().resumes_from->schedule = (folder_ / "first.csv").string();

  for (const char* name : {"ours/plumbline-reference", "ours/plumbline-pipeline", "a.toml", "b.toml", "config.json",
                           "ids.bin", "ids.idx", "first.csv", "cell.csv"}) {
    SweepInputs inputs;
    fingerprint_of(file_, plan_, folder_ / "ours", "judge", inputs);
    EXPECT_NO_THROW(inputs.require_unchanged()) << name;
    std::ofstream(folder_ / name, std::ios::app) << "\n";
    EXPECT_THAT(error_of<SystemError>([&] { inputs.require_unchanged(); }),
                HasSubstr(std::string(name) + " changed after the sweep began"));
  }
}

// A fake ldd lists two libraries of each program.
TEST_F(FingerprintOfOurs, TheirLibrariesCountByWhatTheyHold) {
  const std::string path = std::getenv("PATH");
  program(folder_, "bin/ldd",
          "base=${0%/bin/ldd}\nfor library in first second; do\n"
          "  echo \"lib.so => $base/$library-of-${1##*/} (0x00007f00)\"\ndone\n");
  const EnvironmentVariable searched("PATH", ((folder_ / "bin").string() + ":" + path).c_str());
  const auto of_libraries = [&] { return now("ours").shared.at("the trainers' libraries"); };
  std::string before = of_libraries();
  for (const char* library : {"first-of-plumbline-reference", "second-of-plumbline-reference",
                              "first-of-plumbline-pipeline", "second-of-plumbline-pipeline"}) {
    folder_.file(library, "another");
    const std::string after = of_libraries();
    EXPECT_NE(after, before) << library;
    before = after;
  }
}

TEST_F(FingerprintOf, TheProcessorIsShared) {
  EXPECT_NE(now().shared.at("the machine's processor"), hash_hex("")) << "of which the machine tells something";
}

}  // namespace
}  // namespace plumbline::testing
