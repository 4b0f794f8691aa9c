// SPDX-License-Identifier: BSD-3-Clause
// A sweep of two cases and their reference with fake trainers that provide prepared records.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/harness/fake_programs.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// Both fakes log the call and provide a prepared record; a reference's second run uses that in of-second, if it
/// exists.
inline const char* const timed_trainer = R"sh(
run=$1; record=$3; me=${FAKE_RANK:-0}; base=$(dirname "$0")
[ $me = 0 ] && echo "$(basename "$record")" >> "$base/calls"
grep -q 'summary' "$run" || echo "not at level summary" >> "$base/calls"
[ -e "$base/behaviour" ] && source "$base/behaviour"
of=$base/of-pipeline
case $(basename "$0") in plumbline-reference) of=$base/of-reference ;; esac
case $(basename "$record") in *-second) [ -e "$base/of-second" ] && of=$base/of-second ;; esac
mkdir -p "$record"
cp -r $of/rank-$me "$record/"; [ $me = 0 ] && cp $of/manifest.json $of/schedule.csv "$record/"
page "$record" $me 0 -1 ${me}F0
exit 0
)sh";

class TimedSweep : public ::testing::Test {
 protected:
  TimedSweep() {
    folder_.file("config.json", R"({"num_hidden_layers": 2})");
    folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 8]\n");
    program(folder_, "plumbline-reference", timed_trainer);
    program(folder_, "plumbline-pipeline", timed_trainer);
    program(folder_, "fake-mpirun", fake_mpirun());
    folder_.file("small.toml",
                 "launcher = \"" + (folder_ / "fake-mpirun").string() +
                     " -n {world}\"\nrun = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\", \"afab\"]\n");
    record("of-reference", synthetic_reference({}), 0.9);
    record("of-pipeline", synthetic_candidate({}), 0.6);
  }

  std::filesystem::path sweep_file() const { return folder_ / "small.toml"; }
  void record(const std::string& name, SyntheticRun run, double seconds) {
    for (auto& rank : run.ranks)
      for (auto& row : rank.steps) row.seconds = row.step == 0 ? 99 : seconds;
    std::filesystem::remove_all(folder_ / name);
    run.manifest["machine"] = {{"cpu_model", "Some Processor"}, {"cores", 2}};
    write_run(run, folder_ / name);
    forget_processes(folder_ / name);
  }
  std::vector<std::string> calls() const {
    std::ifstream in(folder_ / "calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
};

}  // namespace plumbline::testing
