// SPDX-License-Identifier: BSD-3-Clause
// The plan that all ranks share: schedule and partition, the same for each replica of the pipeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/unit.hpp"
#include "record/rank_folder.hpp"
#include "schedule/schedule.hpp"
#include "training/training_run.hpp"

namespace plumbline {

struct PipelinePlan {
  Schedule schedule;               ///< compute actions only
  Schedule lowered;                ///< the lists that ranks execute
  std::string schedule_csv;        ///< as written to the record
  std::vector<std::string> notes;  ///< about importing a schedule file
  std::vector<UnitRange> stages;   ///< units of each stage
  std::int64_t origin_ns = 0;      ///< monotonic time of rank 0's start
  int replicas = 1;                ///< copies of the pipeline

  // A rank of the run is replica x ranks of a pipeline + its rank in the pipeline.
  int ranks() const { return schedule.placement.ranks; }  ///< of a pipeline
  int world() const { return replicas * ranks(); }
  int replica_of(int rank) const { return rank / ranks(); }
  int rank_in_pipeline(int rank) const { return rank % ranks(); }
  /// Of the run's ranks, in its record.
  RankFolders folders(const std::filesystem::path& record) const { return {record, replicas > 1 ? ranks() : 0}; }
};

/// Schedule, stages and lowered lists for `world` ranks, those of all replicas. Throws InputError naming the run file.
PipelinePlan make_plan(const TrainingRun& training, int world);

/// The run as a rank of this replica sees it: with its part of each step's microbatches.
TrainingRun run_of_replica(const TrainingRun& training, const PipelinePlan& plan, int replica);

}  // namespace plumbline
