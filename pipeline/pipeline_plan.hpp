// SPDX-License-Identifier: BSD-3-Clause
// The plan that all ranks share: schedule and partition, the same for each replica of the pipeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/unit.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "schedule/schedule.hpp"
#include "support/json.hpp"
#include "training/run.hpp"

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
  /// Whether a rank of the run has the last stage, which computes the loss.
  bool owns_loss(int rank) const {
    return schedule.placement.rank_of(schedule.placement.stages() - 1) == rank_in_pipeline(rank);
  }
  /// Of the run's ranks, in its record.
  RankFolders folders(const std::filesystem::path& record) const { return {record, replicas > 1 ? ranks() : 0}; }
};

/// Schedule, stages and lowered lists for `world` ranks, those of all replicas. Throws InputError naming the run file.
PipelinePlan make_plan(const Run& run, int world);

/// The microbatches of each step, or of an evaluation, that this replica computes.
BatchPlan part_of_replica(const BatchPlan& all, const PipelinePlan& plan, int replica);

/// Each stage with its rank in the pipeline and the names of its units.
std::vector<StageEntry> stage_entries(const Run& run, const PipelinePlan& plan);

/// For describe_run: ranks, schedule, and the units of each stage with its rank.
Json plan_json(const Run& run, const PipelinePlan& plan);

}  // namespace plumbline
