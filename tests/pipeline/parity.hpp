// SPDX-License-Identifier: BSD-3-Clause
// A pipeline of threads in the test's process, and the comparison of its record with a reference's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/launch.hpp"
#include "record/record.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "tests/pipeline/limited_threads.hpp"

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
  made.make_transports = limited_threads;
  return made;
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
  EXPECT_EQ(losses.size(), one.microbatches.size()) << "each loss is on one rank";
  // Every microbatch of every step crosses every stage boundary, forward and backward.
  EXPECT_EQ(crossed.size(), 2 * cuts.size() * one.microbatches.size());
  return compared;
}

}  // namespace plumbline
