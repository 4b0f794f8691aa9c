// A pipeline of threads inside the test's process, and its record held against a reference's.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "pipeline/launch.hpp"
#include "record/record.hpp"

namespace plumbline {

inline SeamsFactory plain_seams() {
  return [](int) { return std::make_unique<TrainerSeams>(); };
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
