// SPDX-License-Identifier: BSD-3-Clause
// The named check must find every canary, at the place of the injected fault; equivalent changes must pass. The
// canaries are in canaries.txt and sites.txt.
#include "tests/mutant/canary.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>

#include "harness/judge/judge.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "tests/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

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

/// Writes kill_matrix.csv, with a row for each canary that this process ran (scripts/matrix-page makes a page of it).
class KillMatrix : public ::testing::Environment {
 public:
  static inline std::string rows;
  void TearDown() override {
    if (rows.empty()) return;
    write_file(out_folder() / "kill_matrix.csv",
               "name,fault,run,schedule,world,expected,killed,red,place_right,first\n" + rows);
  }
};
const ::testing::Environment* const kill_matrix = ::testing::AddGlobalTestEnvironment(new KillMatrix);

/// Two checks may find the same place.
bool same_place(const Finding& one, const Finding& other) {
  const auto key = [](const Finding& at) { return std::tie(at.step, at.microbatch, at.direction, at.item); };
  return key(one) == key(other);
}

class Canaries : public ::testing::TestWithParam<Canary> {};

TEST_P(Canaries, FailTheirCheck) {
  const Canary& canary = GetParam();

  int code = -1;
  const CellVerdict verdict = judge(canary, code);
  const std::string output = read_file(out_folder() / canary.name / "output");
  // Any other exit would make completion fail too, whatever the fault does.
  const bool ended_as_expected =
      code == (canary.output.empty() ? 0 : 1) && output.find(canary.output) != std::string::npos;
  std::vector<std::string> red;
  std::string reasons;
  for (const CheckResult& check : verdict.checks) {
    if (check.outcome != Outcome::differs) continue;
    red.push_back(check.name);
    reasons += check.name + ": " + check.reason + "\n";
  }
  const bool killed = std::ranges::find(red, canary.check) != red.end() && ended_as_expected;
  const bool place_asked = !canary.check.empty() && canary.output.empty();  // otherwise there may be no record
  bool place_right = false;
  std::string first;
  if (place_asked && find(verdict, canary.check).first_divergence) {
    const Finding& place = *find(verdict, canary.check).first_divergence;
    place_right = canary.is_at(place);
    first = place.words;
    const auto& of_all = verdict.first_divergence;
    if (canary.of_the_verdict && (!of_all || !same_place(*of_all, place))) {
      place_right = false;
      first = "the verdict names another: " + (of_all ? of_all->words : "none");
    }
  }
  const auto text = [](bool asked, bool yes) { return std::string(!asked ? "" : yes ? "true" : "false"); };
  KillMatrix::rows +=
      csv_line({canary.name, canary.fault, canary.run, canary.schedule, std::to_string(canary.world), canary.check,
                text(!canary.check.empty(), killed), join(red, " "), text(place_asked, place_right), first});

  EXPECT_TRUE(ended_as_expected) << "exit code " << code << ", output: " << output;
  EXPECT_EQ(verdict.holds, canary.check.empty()) << reasons;
  EXPECT_EQ(killed, !canary.check.empty()) << reasons;
  for (const std::string& name : canary.still_hold) EXPECT_EQ(to_text(find(verdict, name).outcome), "holds") << reasons;
  EXPECT_EQ(place_right, place_asked) << first << "\n" << reasons;
}

INSTANTIATE_TEST_SUITE_P(Faults, Canaries, ::testing::ValuesIn(read_canaries("canaries.txt")), canary_name);

/// The same faults on the first, middle and last rank of 2 to 5: each is also the verdict's first divergence.
std::vector<Canary> sites() {
  std::vector<Canary> all = read_canaries("sites.txt");
  for (Canary& each : all) each.of_the_verdict = each.output.empty();
  return all;
}

INSTANTIATE_TEST_SUITE_P(Sites, Canaries, ::testing::ValuesIn(sites()), canary_name);

}  // namespace
}  // namespace plumbline
