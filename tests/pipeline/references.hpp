// SPDX-License-Identifier: BSD-3-Clause
// References that the pipeline tests train in their own process, and the judge's verdict on a pipeline's record.
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

/// References, each trained once for all tests of a suite.
class SharedReferences : public ::testing::TestWithParam<WorldAndSchedule> {
 protected:
  static void SetUpTestSuite() { folder_ = std::make_unique<testing::TemporaryFolder>(); }
  static void TearDownTestSuite() { folder_.reset(); }
  /// The record of the reference of this name. `run` writes its run file into a folder.
  template <typename Run>
  static std::filesystem::path recorded(const std::string& name, const Run& run) {
    const std::filesystem::path record = folder_->path() / name;
    if (!std::filesystem::exists(record)) train_reference(reference_options(run(folder_->path()), record));
    return record;
  }

 private:
  static inline std::unique_ptr<testing::TemporaryFolder> folder_;
};

}  // namespace plumbline
