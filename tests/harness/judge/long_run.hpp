// SPDX-License-Identifier: BSD-3-Clause
// Records of long runs that hold, at level summary or full, written as fast as a disk takes them: what a pipeline of 8
// ranks under 1F1B and its reference leave behind, made without training. Every step is the same but for its number,
// its data, its rate and its times.
#pragma once

#include <cstdint>
#include <filesystem>

#include "record/manifest.hpp"

namespace plumbline::testing {

struct LongRun {
  std::int64_t steps = 0;
  std::int64_t ranks = 8;
  std::int64_t microbatches = 64;
  RecordLevel level = RecordLevel::summary;  ///< or full
};

/// Rows of all tables, by what the format and the schedule demand: each of a step's, and those of no step.
struct RowsOfRun {
  std::int64_t each_step = 0;
  std::int64_t of_no_step = 0;
  std::int64_t of_start = 0;  ///< of step -1
  std::int64_t tables = 0;    ///< that have steps, of all ranks
};

RowsOfRun write_long_reference(const LongRun& run, const std::filesystem::path& folder);
RowsOfRun write_long_pipeline(const LongRun& run, const std::filesystem::path& folder);

}  // namespace plumbline::testing
