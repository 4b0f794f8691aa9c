// SPDX-License-Identifier: BSD-3-Clause
// A sweep with fake launcher and trainers, in its own folder.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>

#include "harness/launch/process_tree.hpp"
#include "harness/sweep/judge_again.hpp"
#include "harness/sweep/sweep.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace fs = std::filesystem;
using ::testing::MatchesRegex;

/// Work of both fakes: log the call, claim the record, write what a sweep reads. $1 RUN.toml, $3 record.
const char* const trainer = R"sh(
run=$1; record=$3; me=${FAKE_RANK:-0}; base=$(dirname "$0")
[ $me = 0 ] && echo "$(basename "$0") $(basename "$record")" >> "$base/calls"
[ -e "$base/behavior" ] && source "$base/behavior"
page "$record" $me 0 -1 ${me}F0
echo '{"machine": {"cpu": "fake"}, "versions": {}, "environment": {}, "device": "cpu"}' > "$record/manifest.json"
sleep 0.05
ended "$record" $me ok 0
)sh";

/// A verdict of a case that these checks do not let hold.
inline CellVerdict failing_cell(const std::string& id, const std::vector<std::string>& checks) {
  CellVerdict verdict;
  verdict.id = id;
  verdict.holds = checks.empty();
  for (const auto& name : checks) {
    verdict.checks.emplace_back().name = name;
    verdict.checks.back().outcome = Outcome::differs;
  }
  return verdict;
}

class RunSweep : public ::testing::Test {
 protected:
  RunSweep() {
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n");
    folder_.file("b.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 9]\n");
    program(folder_, "plumbline-reference", trainer);
    program(folder_, "plumbline-pipeline", trainer);
    program(folder_, "fake-mpirun", fake_mpirun());
    sweep_file("run = [\"a.toml\", \"b.toml\"]\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\n");
    options_.trainers = folder_.path();
    options_.out = folder_ / "out";
    services_.judge = [this](const CellPlan& plan, const fs::path&, const fs::path& candidate,
                             const std::optional<fs::path>& repeated) {
      const std::lock_guard lock(mutex_);
      judged_.push_back(plan);
      EXPECT_TRUE(fs::exists(candidate) || !plan.launch->started) << candidate << ": " << plan.launch->words;
      if (repeated) repeats_.push_back(repeated->filename().string());
      CellVerdict verdict;
      verdict.id = plan.id;
      verdict.world = plan.world;
      verdict.holds = plan.launch->exit_code == 0;
      verdict.command = plan.command;
      CheckResult check;
      check.name = "completion";
      check.outcome = verdict.holds ? Outcome::holds : Outcome::differs;
      check.reason = plan.launch->words;
      check.compared["tensors"] = 3;
      verdict.checks.push_back(check);
      return verdict;
    };
    services_.write_reports = [this](const fs::path& reported) { reports_.push_back(reported); };
  }

  void sweep_file(const std::string& text) {
    options_.sweep_file =
        folder_.file("small.toml", "launcher = \"" + (folder_ / "fake-mpirun").string() + " -n {world}\"\n" + text);
  }
  /// Shell lines that both fakes run first; $record, $me and $base are set.
  void behave(const std::string& lines) { folder_.file("behavior", lines); }
  /// of-w1, of-w2 and of-reference: records that a fake may copy.
  void lay_records() {
    write_run(synthetic_candidate(one_stage()), folder_ / "of-w1");
    write_run(synthetic_candidate({}), folder_ / "of-w2");
    write_run(synthetic_reference({}), folder_ / "of-reference");
    forget_processes(folder_.path());
  }
  SweepResult run() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(std::fopen((folder_ / "log").c_str(), "a"), std::fclose);
    return run_sweep(options_, services_, log.get());
  }
  /// Runs this shard of so many; returns its folder.
  fs::path shard(std::int64_t number, std::int64_t of) {
    options_.shard = Shard{number, of};
    options_.out = folder_ / ("shard-" + std::to_string(number) + "-of-" + std::to_string(of));
    run();
    return *options_.out;
  }
  std::vector<std::string> calls() const {
    std::ifstream in(folder_ / "calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  std::vector<std::string> finished(const Verdict& verdict) const {
    std::vector<std::string> ids;
    for (const auto& cell : verdict.cells) ids.push_back(cell.id);
    return ids;
  }

  TemporaryFolder folder_;
  SweepOptions options_;
  SweepServices services_;
  std::mutex mutex_;
  std::vector<CellPlan> judged_;
  std::vector<std::string> repeats_;
  std::vector<fs::path> reports_;
};

}  // namespace plumbline::testing
