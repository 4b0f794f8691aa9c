// SPDX-License-Identifier: BSD-3-Clause
// The calibrated comparison mode and injected faults: the named check must find each fault at its place, and must
// accept other roundings. Another instruction set takes the place of another GPU model: it gives other bits nearly
// everywhere.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/compare.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "harness/launch/default_launcher.hpp"
#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/sweep.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/mutant/canary.hpp"
#include "tests/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const fs::path canaries = fs::path(testing::bin_path()).parent_path() / "canaries";

const std::string other_instructions = "ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE ";

/// One calibration for each run, shared by all canaries of this process.
fs::path calibrated(const std::string& run) {
  static std::map<std::string, fs::path> made;
  if (made.contains(run)) return made[run];
  const fs::path folder = canaries / ("calibration-" + run);
  fs::remove_all(folder);
  StopSignals signals;
  CalibrateOptions options;
  options.run_file = testing::fixtures_path() + "/runs/" + run + ".toml";
  options.folder = folder;
  options.trainers = testing::bin_path();
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  EXPECT_TRUE(null_runs_hold(calibrate(options, signals, nowhere)));
  std::fclose(nowhere);
  return made[run] = folder;
}

/// The candidate's record.
fs::path run_candidate(const Canary& canary, const fs::path& calibration) {
  const fs::path out = canaries / ("calibrated-" + canary.name);
  fs::remove_all(out);
  fs::create_directories(out);
  const std::string program = canary.fault.empty() ? "plumbline-pipeline" : "plumbline-mutant --fault " + canary.fault;
  const std::string environment = canary.other_instructions ? other_instructions : "";
  const std::string command = environment + testing::bin_path() + "/" + program + " " +
                              (calibration / "candidate.toml").string() + " --transport threads --ranks 3 --schedule " +
                              canary.schedule + " --record " + (out / "record").string() + " --quiet > " +
                              (out / "output").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << "see " << out / "output";
  return out / "record";
}

class CalibratedCanaries : public ::testing::TestWithParam<Canary> {};

TEST_P(CalibratedCanaries, FailOnlyWhereSomethingIsWrong) {
  const Canary& canary = GetParam();
  const fs::path calibration = calibrated(canary.run);
  const fs::path record = run_candidate(canary, calibration);

  const CellVerdict verdict = compare_records(calibration / "reference", record, calibration / "calibration.json");

  if (canary.check.empty()) {
    EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
    for (const char* name : {"loss", "boundaries", "gradients", "gradient_norm", "parameters"}) {
      const CheckResult& check = find(verdict, name);
      ASSERT_TRUE(check.margin) << name;
      std::printf("%s: margin %.3f, %s\n", name, *check.margin, check.measured.c_str());
      EXPECT_LE(*check.margin, judging::warned_margin) << check.reason;
    }
    if (!canary.other_instructions) return;
    const CellVerdict in_bits = compare_records(calibration / "reference", record);
    EXPECT_FALSE(in_bits.holds) << "other instructions gave the same bits, so this canary shows nothing";
    return;
  }
  EXPECT_FALSE(verdict.holds);
  const CheckResult& check = find(verdict, canary.check);
  EXPECT_EQ(to_text(check.outcome), "differs") << comparison_text(verdict);
  if (check.margin) std::printf("%s: margin %.3g, %s\n", check.name.c_str(), *check.margin, check.measured.c_str());
  for (const std::string& name : canary.still_hold) {
    EXPECT_EQ(to_text(find(verdict, name).outcome), "holds") << comparison_text(verdict);
  }
  ASSERT_TRUE(check.first_divergence) << comparison_text(verdict);
  const Finding& place = *check.first_divergence;
  EXPECT_TRUE(canary.is_at(place)) << place.direction << " " << place.item << "\n" << place.words;
}

INSTANTIATE_TEST_SUITE_P(Faults, CalibratedCanaries, ::testing::ValuesIn(read_canaries("calibrated.txt")), canary_name);

TEST(CalibrateAgain, KeepsFinishedRunsAndRunsTheOthers) {
  const fs::path folder = calibrated("canary-untied");
  const judging::Calibration before = judging::read_calibration(folder / "calibration.json");
  const auto kept_since = fs::last_write_time(folder / "null" / "2.json");
  fs::remove(folder / "null" / "3.json");
  fs::remove(folder / "calibration.json");
  StopSignals signals;
  CalibrateOptions options;
  options.run_file = testing::fixtures_path() + "/runs/canary-untied.toml";
  options.folder = folder;
  options.trainers = testing::bin_path();
  EXPECT_THROW(calibrate(options, signals, stderr), InputError)
      << "the folder is not empty, and --resume was not given";

  options.resume = true;
  const judging::Calibration after = calibrate(options, signals, stderr);

  EXPECT_EQ(after.limits.size(), before.limits.size());
  for (const auto& [item, limit] : after.limits) EXPECT_EQ(limit.limit, before.limits.at(item).limit) << item.name;
  EXPECT_EQ(fs::last_write_time(folder / "null" / "2.json"), kept_since);
  EXPECT_FALSE(fs::exists(folder / "null" / "3")) << "the dumps of a measured run are removed";
  options.run_file = testing::fixtures_path() + "/runs/canary-tied.toml";
  EXPECT_THROW(calibrate(options, signals, stderr), InputError) << "calibration of another run";
}

TEST(CalibratedSweep, HoldsIfRanksUseOtherInstructions) {
  const fs::path out = canaries / "calibrated-sweep";
  fs::remove_all(out);
  fs::create_directories(out);
  write_file(out / "sweep.toml", "run = [\"" + testing::fixtures_path() +
                                     "/runs/canary-tied.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n"
                                     "tier = \"calibrated\"\ntime_limit_s = 60\nlauncher = \"env " +
                                     other_instructions + default_launcher() + "\"\n");
  SweepOptions options;
  options.sweep_file = out / "sweep.toml";
  options.out = out / "out";
  options.trainers = testing::bin_path();

  const auto [folder, verdict] = run_sweep(options, {judge_cell, [](const fs::path&) {}}, stderr);

  ASSERT_EQ(verdict.cells.size(), 1U);
  EXPECT_TRUE(verdict.holds) << comparison_text(verdict.cells[0]);
  EXPECT_EQ(verdict.comparison_mode, ComparisonMode::calibrated);
  EXPECT_TRUE(find(verdict.cells[0], "gradients").margin);
  EXPECT_FALSE(judge_cell({}, folder / "references" / "canary-tied", folder / "cells" / verdict.cells[0].id).holds)
      << "it must not hold in bits";
}

}  // namespace
}  // namespace plumbline
