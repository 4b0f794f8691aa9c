// SPDX-License-Identifier: BSD-3-Clause
// Helpers of the checkpoint tests: trainings that save, and their results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/launch.hpp"
#include "reference/trainer.hpp"
#include "support/csv.hpp"
#include "tests/pipeline/limited_threads.hpp"

namespace plumbline {

/// Used as a number of ranks: the reference trains.
inline constexpr int reference_alone = 0;

/// Trains on this many ranks, which are threads; returns the exit code.
inline int train_on(int ranks, const std::filesystem::path& run_file, const CheckpointOptions& checkpoint,
                    const std::string& schedule) {
  if (ranks == reference_alone) {
    ReferenceOptions options;
    options.run_file = run_file;
    options.checkpoint = checkpoint;
    options.progress = false;
    train_reference(options);
    return 0;
  }
  PipelineOptions options;
  options.run_file = run_file;
  options.checkpoint = checkpoint;
  options.transport = "threads";
  options.world = ranks;
  options.schedule = schedule;
  options.progress = false;
  options.make_transports = limited_threads;
  return train_pipeline(options);
}

/// The cells of a column, row by row.
inline std::vector<std::string> column(const std::filesystem::path& table, const std::string& name) {
  const CsvTable csv = read_csv(table, {name});
  std::vector<std::string> cells;
  for (const CsvRow& row : csv.rows) cells.push_back(row.cells[csv.column(name)]);
  return cells;
}

}  // namespace plumbline
