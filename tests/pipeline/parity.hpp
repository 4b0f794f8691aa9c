// SPDX-License-Identifier: BSD-3-Clause
// A pipeline of threads in the test's process, its reference, and the comparison of their records.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/judge.hpp"
#include "pipeline/launch.hpp"
#include "record/record.hpp"
#include "reference/trainer.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {

using WorldAndSchedule = std::tuple<int, std::string>;

/// Every schedule at every world size from 1 to 8 that supports this number of microbatches.
inline std::vector<WorldAndSchedule> worlds_and_schedules(std::int32_t microbatches) {
  std::vector<WorldAndSchedule> fitting;
  for (const std::string& schedule : schedule_names()) {
    for (int world = 1; world <= 8; ++world) {
      try {
        make_schedule(schedule, world, microbatches, default_chunks(schedule));
      } catch (const InputError&) {
        continue;
      }
      fitting.emplace_back(world, schedule);
    }
  }
  return fitting;
}

/// "w2_zb_h1"
inline std::string name_of(const ::testing::TestParamInfo<WorldAndSchedule>& tested) {
  std::string name = "w" + std::to_string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param);
  std::ranges::replace(name, '-', '_');
  return name;
}

inline PipelineOptions options(const std::filesystem::path& run, const std::filesystem::path& record, int world,
                               const std::string& schedule) {
  PipelineOptions made;
  made.run_file = run;
  made.record = record;
  made.transport = "threads";
  made.world = world;
  made.schedule = schedule;
  made.command = {"test"};
  made.progress = false;
  return made;
}

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
  const std::string fixtures = PLUMBLINE_FIXTURES;
  std::string text = read_file(fixtures + "/runs/quick.toml") + more;
  for (std::size_t at = 0; (at = text.find("\"../", at)) != std::string::npos;)
    text.replace(at, 4, "\"" + fixtures + "/");
  std::ofstream(folder / "run.toml") << text;
  return folder / "run.toml";
}

/// Expects that every loss, boundary tensor, gradient, parameter and moment of either record is in the other with the
/// same bits; returns how many rows of the candidate were compared.
inline std::map<std::string, int> expect_same_bits(const Record& reference, const Record& candidate) {
  const RankRecord& one = reference.ranks.front();
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::string> tensors;
  for (const TensorRow& row : one.tensors) tensors[{row.step, row.kind, row.name}] = row.digest;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::string> boundaries;
  for (const BoundaryRow& row : one.boundaries) {
    boundaries[{row.step, row.microbatch, row.direction, row.cut}] = row.digest;
  }
  std::map<std::string, int> compared;
  auto tensors_left = tensors;
  std::set<std::pair<std::int64_t, std::int64_t>> losses;
  std::set<std::tuple<std::int64_t, std::int64_t, std::string>> crossed;
  std::set<std::string> cuts;
  for (const RankRecord& rank : candidate.ranks) {
    for (const TensorRow& row : rank.tensors) {
      const auto key = std::tuple(row.step, row.kind, row.name);
      EXPECT_EQ(row.digest, tensors[key]) << row.step << ' ' << row.kind << ' ' << row.name;
      tensors_left.erase(key);
      ++compared[row.kind];
    }
    for (const BoundaryRow& row : rank.boundaries) {
      EXPECT_EQ(row.digest, (boundaries[{row.step, row.microbatch, row.direction, row.cut}]))
          << row.direction << ' ' << row.cut << ' ' << row.side << ", microbatch " << row.microbatch;
      crossed.emplace(row.step, row.microbatch, row.direction + " " + row.cut);
      cuts.insert(row.cut);
      ++compared["boundary"];
    }
    EXPECT_EQ(rank.microbatches.size(), one.microbatches.size()) << "rank " << rank.rank;
    for (std::size_t i = 0; i < std::min(rank.microbatches.size(), one.microbatches.size()); ++i) {
      if (!rank.microbatches[i].loss) continue;
      EXPECT_EQ(rank.microbatches[i].loss, one.microbatches[i].loss);
      losses.emplace(rank.microbatches[i].step, rank.microbatches[i].microbatch);
      ++compared["loss"];
    }
    EXPECT_EQ(rank.steps.size(), one.steps.size()) << "rank " << rank.rank;
    for (std::size_t step = 0; step < std::min(rank.steps.size(), one.steps.size()); ++step) {
      EXPECT_EQ(rank.steps[step].gradient_norm, one.steps[step].gradient_norm);
    }
  }
  for (const auto& [key, digest] : tensors_left) {
    const auto& [step, kind, name] = key;
    ADD_FAILURE() << "no rank has the reference's " << kind << " of " << name << " in step " << step;
  }
  EXPECT_EQ(losses.size(), one.microbatches.size()) << "each loss stands on one rank";
  // Every microbatch of every step crosses every stage boundary, forward and backward.
  EXPECT_EQ(crossed.size(), 2 * cuts.size() * one.microbatches.size());
  return compared;
}

/// Expects that the judge finds no fault, and that it could look at what these checks are about.
inline void expect_judged(const WorldAndSchedule& asked, const std::filesystem::path& reference,
                          const std::filesystem::path& candidate, const std::vector<std::string>& holding) {
  CellPlan plan;
  plan.world = std::get<0>(asked);
  plan.schedule = std::get<1>(asked);
  plan.launch.emplace();
  const CellVerdict verdict = judge_cell(plan, reference, candidate);
  for (const CheckResult& check : verdict.checks)
    EXPECT_NE(check.outcome, Outcome::fails) << check.name << ": " << check.reason;
  for (const std::string& name : holding) {
    const auto check = std::ranges::find(verdict.checks, name, &CheckResult::name);
    EXPECT_EQ(check->outcome, Outcome::holds) << name << ": " << check->reason;
  }
}

/// References that are trained once for all tests of a suite.
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
