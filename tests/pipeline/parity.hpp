// A pipeline of threads inside the test's process, and its record held against a reference's.
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

namespace plumbline {

using WorldAndSchedule = std::tuple<int, std::string>;

/// Every schedule at every world size from 1 to 8 that it can have with so many microbatches.
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

/// Every loss, boundary, gradient, parameter and moment equals the reference's; returns how many were compared.
inline std::map<std::string, int> expect_same_bits(const Record& reference, const Record& candidate) {
  const RankRecord& one = reference.ranks.front();
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::string> tensors;
  for (const TensorRow& row : one.tensors) tensors[{row.step, row.kind, row.name}] = row.digest;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::string> boundaries;
  for (const BoundaryRow& row : one.boundaries) {
    boundaries[{row.step, row.microbatch, row.direction, row.cut}] = row.digest;
  }
  std::map<std::string, int> compared;
  for (const RankRecord& rank : candidate.ranks) {
    for (const TensorRow& row : rank.tensors) {
      EXPECT_EQ(row.digest, (tensors[{row.step, row.kind, row.name}]))
          << row.step << ' ' << row.kind << ' ' << row.name;
      ++compared[row.kind];
    }
    for (const BoundaryRow& row : rank.boundaries) {
      EXPECT_EQ(row.digest, (boundaries[{row.step, row.microbatch, row.direction, row.cut}]))
          << row.direction << ' ' << row.cut << ' ' << row.side << ", microbatch " << row.microbatch;
      ++compared["boundary"];
    }
    for (std::size_t i = 0; i < rank.microbatches.size(); ++i) {
      if (!rank.microbatches[i].loss) continue;
      EXPECT_EQ(rank.microbatches[i].loss, one.microbatches[i].loss);
      ++compared["loss"];
    }
    for (std::size_t step = 0; step < rank.steps.size(); ++step) {
      EXPECT_EQ(rank.steps[step].gradient_norm, one.steps[step].gradient_norm);
    }
  }
  return compared;
}

}  // namespace plumbline
