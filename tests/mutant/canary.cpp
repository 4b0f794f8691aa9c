// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/canary.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>

#include "harness/judge/judge.hpp"
#include "support/files.hpp"
#include "tests/mutant/kill_matrix.hpp"
#include "tests/paths.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::string canary_name(const ::testing::TestParamInfo<Canary>& tested) {
  return tested.param.name;
}

void PrintTo(const Canary& canary, std::ostream* out) {
  *out << canary.name;
}

namespace {

/// A folder for this process, since several run canaries at the same time.
fs::path out_folder() {
  const char* name = std::getenv("PLUMBLINE_CANARIES");
  return fs::path(testing::bin_path()).parent_path() / "canaries" / (name == nullptr ? "all" : name);
}

fs::path folder(const std::string& name) {
  const fs::path path = out_folder() / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

int execute(const std::string& program, const std::string& arguments, const fs::path& out) {
  const std::string command =
      testing::bin_path() + "/" + program + " " + arguments + " --quiet > " + (out / "output").string() + " 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string run_file(const std::string& run) {
  return testing::fixtures_path() + "/runs/" + run + ".toml";
}

/// One reference for each run, shared by all canaries of this process.
fs::path reference(const std::string& run) {
  static std::map<std::string, fs::path> made;
  if (!made.contains(run)) {
    const fs::path out = folder("reference-" + run);
    const fs::path order = fs::path(run_file(run)).replace_extension(".csv");  // replicas need the summation order
    const std::string summed = fs::exists(order) ? " --accumulation " + order.string() : "";
    EXPECT_EQ(execute("plumbline-reference", run_file(run) + " --record " + (out / "record").string() + summed, out), 0)
        << "see " << out / "output";
    made[run] = out / "record";
  }
  return made[run];
}

/// The checkpoint of a run without a fault that stopped after this many steps, on two ranks; shared like references.
fs::path stopped(const std::string& run, std::int64_t steps) {
  static std::map<std::string, fs::path> made;
  const std::string name = "stopped-" + run + "-" + std::to_string(steps);
  if (!made.contains(name)) {
    const fs::path out = folder(name);
    EXPECT_EQ(execute("plumbline-pipeline",
                      run_file(run) + " --transport threads --ranks 2 --stop-after " + std::to_string(steps) +
                          " --checkpoint " + (out / "checkpoints").string(),
                      out),
              0)
        << "see " << out / "output";
    made[name] = out / "checkpoints" / ("step-0000000" + std::to_string(steps));
  }
  return made[name];
}

/// `code`: the trainer's exit code.
CellVerdict judge(const Canary& canary, int& code) {
  const fs::path out = folder(canary.name);
  const std::string resume = canary.resume_at > 0 ? " --resume " + stopped(canary.run, canary.resume_at).string() : "";
  const std::string arguments = (canary.fault.empty() ? "" : "--fault " + canary.fault + " ") + run_file(canary.run) +
                                " --transport threads --ranks " + std::to_string(canary.world) + " --schedule " +
                                canary.schedule + " --record " + (out / "record").string() + resume;
  code = execute(canary.fault.empty() ? "plumbline-pipeline" : "plumbline-mutant", arguments, out);
  CellPlan plan;
  plan.id = canary.name;
  plan.run = canary.run;
  plan.world = canary.world;
  plan.schedule = canary.schedule;
  plan.optimizer = "sgd";
  plan.launch.emplace();
  plan.launch->exit_code = code;
  return judge_cell(plan, reference(canary.run), out / "record");
}

const CheckResult& find(const CellVerdict& verdict, std::string_view check) {
  return *std::ranges::find(verdict.checks, check, &CheckResult::name);
}

std::string failures(const CellVerdict& verdict) {
  std::string text;
  for (const CheckResult& check : verdict.checks) {
    if (check.outcome == Outcome::differs) text += check.name + ": " + check.reason + "\n";
  }
  return text;
}

/// Writes kill_matrix.csv, with all canaries that this process ran.
class KillMatrix : public ::testing::Environment {
 public:
  static std::vector<mutant::Trial>& trials() {
    static std::vector<mutant::Trial> all;
    return all;
  }
  void TearDown() override {
    if (trials().empty()) return;
    mutant::write_kill_matrix(out_folder() / "kill_matrix.csv", trials());
  }
};
const ::testing::Environment* const kill_matrix = ::testing::AddGlobalTestEnvironment(new KillMatrix);

/// Which checks found the fault, and whether at its place. A fault that ends the trainer before it records has none.
mutant::Trial trial_of(const Canary& canary, const CellVerdict& verdict) {
  mutant::Trial trial;
  trial.name = canary.name;
  trial.fault = canary.fault;
  trial.run = canary.run;
  trial.schedule = canary.schedule;
  trial.world = canary.world;
  trial.expected = canary.check;
  for (const CheckResult& check : verdict.checks)
    if (check.outcome == Outcome::differs) trial.red.push_back(check.name);
  trial.place_asked = !canary.check.empty() && canary.output.empty();
  if (!trial.place_asked) return trial;
  const auto& place = find(verdict, canary.check).first_divergence;
  if (!place) return trial;
  trial.first = place->words;
  trial.place_right = (!canary.step || place->step == *canary.step) &&
                      (!canary.microbatch || place->microbatch == canary.microbatch) &&
                      place->direction == canary.direction && place->item.find(canary.item) != std::string::npos &&
                      (!canary.rank || place->rank == canary.rank);
  if (!canary.of_the_verdict) return trial;
  const auto& first = verdict.first_divergence;
  // Two checks may find the same place.
  const auto key = [](const Finding& at) { return std::tie(at.step, at.microbatch, at.direction, at.item); };
  const bool of_the_verdict = first && key(*first) == key(*place);
  if (!of_the_verdict) trial.first = "the verdict names another: " + (first ? first->words : "none");
  trial.place_right = trial.place_right && of_the_verdict;
  return trial;
}

TEST_P(Canaries, FailTheirCheck) {
  const Canary& canary = GetParam();

  int code = -1;
  const CellVerdict verdict = judge(canary, code);
  const std::string output = read_file(out_folder() / canary.name / "output");
  mutant::Trial& trial = KillMatrix::trials().emplace_back(trial_of(canary, verdict));
  // Any other exit would make completion fail too, whatever the fault does.
  trial.ended_as_expected = code == (canary.output.empty() ? 0 : 1) && output.find(canary.output) != std::string::npos;
  EXPECT_TRUE(trial.ended_as_expected) << "exit code " << code << ", output: " << output;

  if (canary.check.empty()) {
    EXPECT_TRUE(verdict.holds) << failures(verdict);
    return;
  }
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(to_text(find(verdict, canary.check).outcome), "differs") << failures(verdict);
  for (const std::string& name : canary.still_hold) {
    EXPECT_EQ(to_text(find(verdict, name).outcome), "holds") << failures(verdict);
  }
  EXPECT_EQ(trial.place_right, trial.place_asked) << trial.first << "\n" << failures(verdict);
}

}  // namespace
}  // namespace plumbline
