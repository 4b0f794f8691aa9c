// SPDX-License-Identifier: BSD-3-Clause
// What a run is made from: a resumed sweep that misses a change would judge records of another trainer.
#include "harness/sweep/run_inputs.hpp"

#include <chrono>
#include <cstdlib>
#include <functional>

#include "harness/sweep/run_facts.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Optional;

TEST(FirstDifference, CoversTheKeysOfBoth) {
  const RunInputs before = {{"the data", "d"}, {"the model", "m"}};
  EXPECT_EQ(first_difference(before, before), std::nullopt);
  EXPECT_EQ(first_difference(before, {{"the data", "x"}, {"the model", "x"}}), "the data");
  EXPECT_EQ(first_difference(before, {{"the data", "d"}}), "the model");
  EXPECT_EQ(first_difference({{"the data", "d"}}, before), "the model");
}

/// A sweep of one user's command, ./train.sh settings.ini.
class InputsOf : public ::testing::Test {
 protected:
  struct Inputs {
    RunInputs reference, cell;
  };
  InputsOf() {
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
    cell.command->is_candidate = true;
    plan_.cells.push_back(cell);
  }
  Inputs now() const {
    SweepInputs files;
    return now(files);
  }
  Inputs now(SweepInputs& files) const {
    SweepPlan plan = plan_;
    for (auto& reference : plan.references) reference.request = make_request(file_, reference);
    for (auto& each : plan.cells) each.plan.request = make_request(file_, each);
    set_inputs(file_, plan, folder_ / "ours", files);
    return {plan.references[0].inputs, plan.cells[0].inputs};
  }
  /// After the change these inputs are others, and no reference's input is if the case's alone is.
  void expect_changes(const Inputs& before, const std::string& name, bool of_the_case_alone = false) {
    const Inputs after = now();
    EXPECT_THAT(first_difference(before.cell, after.cell), Optional(name));
    EXPECT_EQ(first_difference(before.reference, after.reference),
              of_the_case_alone ? std::nullopt : std::optional(name));
  }
  PlannedCell& cell() { return plan_.cells[0]; }
  PlannedCommand& reference() { return *plan_.references[0].command; }

  TemporaryFolder folder_;
  SweepFile file_;
  SweepPlan plan_;
};

TEST_F(InputsOf, ACommandAreItsWordsRequestAndFiles) {
  const Inputs before = now();
  EXPECT_EQ(before.cell, now().cell);
  EXPECT_FALSE(before.cell.contains("the trainers")) << "which are not ours";
  const SweepPlan plan = plan_;
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { cell().command->words.emplace_back("more"); }, [&] { cell().command->values["how"] = "else"; },
           [&] { cell().command->environment["MODE"] = "else"; },
           [&] { cell().command->values["steps"] = "3"; },  // requested without a placeholder
           [&] { cell().command->ranks = 4; }}) {
    change();
    expect_changes(before, "the candidate's command", true);
    plan_ = plan;
  }
  reference().words.emplace_back("more");
  expect_changes(before, "the reference's command");
  plan_ = plan;

  folder_.file("settings.ini", "two");
  expect_changes(before, "settings.ini");
  folder_.file("settings.ini", "one");
  std::ofstream(folder_ / "train.sh", std::ios::app) << "# another\n";
  expect_changes(before, "./train.sh");
}

TEST_F(InputsOf, AProgramOnThePathCountsToo) {
  const std::string path = std::getenv("PATH");
  program(folder_, "some/their-train", "exit 0\n");
  const EnvironmentVariable searched("PATH", ((folder_ / "some").string() + ":" + path).c_str());
  cell().command->words = {"their-train"};
  const Inputs before = now();

  std::ofstream(folder_ / "some/their-train", std::ios::app) << "# another\n";

  expect_changes(before, "their-train", true);
}

// To read many GiB each time would take too long.
TEST_F(InputsOf, ALargeFileCountsByItsSizeAndTimeOfChange) {
  const fs::path file = folder_ / "settings.ini";
  fs::resize_file(file, 65 << 20);
  const auto time = fs::last_write_time(file);
  const Inputs before = now();

  { std::fstream(file, std::ios::in | std::ios::out) << "other"; }
  fs::last_write_time(file, time);
  EXPECT_EQ(now().cell, before.cell);
  fs::last_write_time(file, time + std::chrono::seconds(1));
  expect_changes(before, "settings.ini");
  fs::resize_file(file, (65 << 20) + 1);
  fs::last_write_time(file, time);
  expect_changes(before, "settings.ini");
}

TEST_F(InputsOf, DeviceLauncherAndVariablesThatLibrariesReadAreShared) {
  Inputs before = now();
  EXPECT_NE(before.cell.at("the processor"), hash_hex("")) << "of which the machine tells something";
  const SweepFile file = file_;
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { file_.device = "cuda"; }, [&] { file_.calibrated = true; }, [&] { file_.mixed_gpus = true; }}) {
    change();
    EXPECT_NE(now().reference.at("the device or tier"), before.reference.at("the device or tier"));
    EXPECT_NE(now().cell.at("the device or tier"), before.cell.at("the device or tier"));
    file_ = file;
  }
  for (const char* variable : {"ATEN_X", "MKL_X", "OMPI_MCA_x", "PLUMBLINE_X"}) {
    const EnvironmentVariable set(variable, "1");
    expect_changes(before, "the environment");
  }
  const EnvironmentVariable another("HOLIDAY_TORCH_", "1");
  EXPECT_EQ(now().cell, before.cell);

  file_.launcher = program(folder_, "launch", "exit 0\n").string() + " -n {world}";
  expect_changes(before, "the launcher");
  before = now();
  std::ofstream(folder_ / "launch", std::ios::app) << "# another\n";
  expect_changes(before, "the launcher");
  before = now();
  file_.launcher += " --bind-to none";
  expect_changes(before, "the launcher");
}

/// A case of Plumbline's own trainers, a run of two segments.
class InputsOfOurs : public InputsOf {
 protected:
  InputsOfOurs() {
    program(folder_, "ours/plumbline-reference", "exit 0\n");
    program(folder_, "ours/plumbline-pipeline", "exit 0\n");
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    for (const char* name : {"model.safetensors", "ids.bin", "ids.idx", "held_out.bin", "first.csv", "cell.csv"})
      folder_.file(name, "1");
    file_.commands.reset();
    plan_ = {};
    plan_.references.push_back({"r", run_file("a.toml", "steps = 4"), {}});
    PlannedCell cell;
    cell.plan.id = "c";
    cell.plan.world = cell.placement.ranks = 2;
    cell.placement.chunks_per_rank = 1;
    cell.run = run_file("b.toml", "steps = 4");
    cell.schedule = (folder_ / "cell.csv").string();
    cell.plan.schedule_csv = "rank,action\n";
    cell.resumes_from = PlannedStart{2, 1, (folder_ / "first.csv").string()};
    plan_.cells.push_back(cell);
  }
  fs::path run_file(const std::string& name, const std::string& train) {
    return folder_.file(name,
                        "[model]\nconfig = \"config.json\"\nweights = \"model.safetensors\"\n[data]\nlengths = [4, 8]\n"
                        "tokens = \"ids.bin\"\nvalidation = \"held_out.bin\"\n[train]\n" +
                            train + "\n");
  }
};

TEST_F(InputsOfOurs, AreTheCasesOwnSettings) {
  const Inputs before = now();
  const SweepPlan plan = plan_;
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { cell().resumes_from->steps = 3; }, [&] { cell().resumes_from->world = 2; },
           [&] { cell().changes.optimizer = "sgd"; },
           [&] {
             cell().changes.balance = {1, 1};
           }}) {
    change();
    EXPECT_NE(now().cell.at("the run file of the pipeline"), before.cell.at("the run file of the pipeline"));
    EXPECT_EQ(now().reference, before.reference);
    plan_ = plan;
  }
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { cell().schedule = "1f1b", cell().plan.schedule_csv.clear(); }, [&] { cell().resumes_from.reset(); }}) {
    change();
    EXPECT_NE(now().cell.at("the run file of the pipeline"), before.cell.at("the run file of the pipeline"));
    plan_ = plan;
  }
  cell().plan.checks = {"loss"};
  cell().plan.bench = cell().plan.repeat = cell().plan.clipping_must_act = true;
  EXPECT_EQ(now().cell, before.cell) << "what is judged changes no record";
}

TEST_F(InputsOfOurs, AreTheReferencesSettings) {
  Inputs before = now();
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { plan_.references[0].accumulation = "unit,microbatch\n"; },
           [&] { plan_.references[0].splits_backward = true; }, [&] { plan_.references[0].changes.optimizer = "sgd"; },
           [&] { run_file("a.toml", "steps = 5"); }}) {
    change();
    const Inputs after = now();
    EXPECT_NE(after.reference.at("the run file"), before.reference.at("the run file"));
    EXPECT_EQ(after.cell.at("the run file"), after.reference.at("the run file"));
    before = after;
  }
}

/// A file with the name of the input that it belongs to.
const std::vector<std::pair<std::string, std::string>> read_files = {{"config.json", "the model"},
                                                                     {"model.safetensors", "the weights"},
                                                                     {"ids.bin", "the data"},
                                                                     {"ids.idx", "the data"},
                                                                     {"held_out.bin", "the data for validation"},
                                                                     {"held_out.idx", "the data for validation"},
                                                                     {"cell.csv", "the schedule file"},
                                                                     {"first.csv", "the schedule file"},
                                                                     {"ours/plumbline-reference", "the trainers"},
                                                                     {"ours/plumbline-pipeline", "the trainers"}};

TEST_F(InputsOfOurs, AreAllFilesThatTheyRead) {
  for (const auto& [name, input] : read_files) {
    const Inputs before = now();
    std::ofstream(folder_ / name, std::ios::app) << "\n";
    expect_changes(before, input, input == "the schedule file");
  }
  const Inputs before = now();
  folder_.file("ours/notes.txt", "");
  EXPECT_EQ(now().cell, before.cell);
  folder_.file("ours/module.so", "");
  expect_changes(before, "the trainers");
}

// The run files too, which are read again for each run.
TEST_F(InputsOfOurs, MustNotChange) {
  auto files = read_files;
  files.insert(files.end(), {{"a.toml", ""}, {"b.toml", ""}});
  for (const auto& [name, input] : files) {
    SweepInputs held;
    now(held);
    EXPECT_NO_THROW(held.require_unchanged()) << name;
    std::ofstream(folder_ / name, std::ios::app) << "\n";
    EXPECT_THAT(error_of<SystemError>([&] { held.require_unchanged(); }),
                HasSubstr(name + " changed after the sweep began"));
  }
}

// A fake ldd lists two libraries of each program.
TEST_F(InputsOfOurs, AreTheTrainersLibraries) {
  const std::string path = std::getenv("PATH");
  program(folder_, "bin/ldd",
          "base=${0%/bin/ldd}\nfor library in first second; do\n"
          "  echo \"lib.so => $base/$library-of-${1##*/} (0x00007f00)\"\ndone\n");
  const EnvironmentVariable searched("PATH", ((folder_ / "bin").string() + ":" + path).c_str());
  for (const char* library : {"first-of-plumbline-reference", "second-of-plumbline-reference",
                              "first-of-plumbline-pipeline", "second-of-plumbline-pipeline"}) {
    const Inputs before = now();
    folder_.file(library, "another");
    expect_changes(before, "the trainers' libraries");
  }
}

}  // namespace
}  // namespace plumbline::testing
