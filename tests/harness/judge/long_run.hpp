// SPDX-License-Identifier: BSD-3-Clause
// Passing records of long runs, at level summary or full: a pipeline of 8 ranks with 1F1B and its reference, generated
// without training at the speed of the disk. Steps differ only in number, data, rate and times.
#pragma once

#include <cstdint>
#include <filesystem>

#include "record/manifest.hpp"

namespace plumbline::testing {

struct LongRun {
  std::int64_t steps = 0;
  std::int64_t ranks = 8;
  std::int64_t microbatches = 64;
  RecordLevel level = RecordLevel::summary;  ///< summary or full
};

/// Numbers of rows of all tables by format and schedule: per step, and outside of steps.
struct RowsOfRun {
  std::int64_t each_step = 0;
  std::int64_t of_no_step = 0;
  std::int64_t of_start = 0;  ///< of step -1
  std::int64_t tables = 0;    ///< tables with steps, over all ranks
};

RowsOfRun write_long_reference(const LongRun& run, const std::filesystem::path& folder);
RowsOfRun write_long_pipeline(const LongRun& run, const std::filesystem::path& folder);

}  // namespace plumbline::testing
