// SPDX-License-Identifier: BSD-3-Clause
// Options and run files of references that the pipeline tests train, and the judge's verdict on a pipeline's record.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/judge.hpp"
#include "reference/trainer.hpp"
#include "support/files.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {

inline ReferenceOptions reference_options(const std::filesystem::path& run, const std::filesystem::path& record) {
  ReferenceOptions made;
  made.run_file = run;
  made.record = record;
  made.progress = false;
  made.command = {"test"};
  return made;
}

/// quick.toml with more lines, in this folder.
inline std::filesystem::path quick_run(const std::filesystem::path& folder, const std::string& more) {
  const std::string fixtures = testing::fixtures_path();
  std::string text = read_file(fixtures + "/runs/quick.toml") + more;
  for (std::size_t at = 0; (at = text.find("\"../", at)) != std::string::npos;)
    text.replace(at, 4, "\"" + fixtures + "/");
  std::ofstream(folder / "run.toml") << text;
  return folder / "run.toml";
}

/// Expects that the judge finds no fault, and that these checks compared something.
inline void expect_judged(const WorldAndSchedule& requested, const std::filesystem::path& reference,
                          const std::filesystem::path& candidate, const std::vector<std::string>& holding) {
  CellPlan plan;
  plan.world = std::get<0>(requested);
  plan.schedule = std::get<1>(requested);
  plan.launch.emplace();
  const CellVerdict verdict = judge_cell(plan, reference, candidate);
  for (const CheckResult& check : verdict.checks)
    EXPECT_NE(check.outcome, Outcome::differs) << check.name << ": " << check.reason;
  for (const std::string& name : holding) {
    const auto check = std::ranges::find(verdict.checks, name, &CheckResult::name);
    EXPECT_EQ(check->outcome, Outcome::holds) << name << ": " << check->reason;
  }
}

}  // namespace plumbline
