// SPDX-License-Identifier: BSD-3-Clause
// One rank of the pipeline trainer: executes its action list in every step and records it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/evaluation.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/replica_sum.hpp"
#include "pipeline/schedule_executor.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/transport/group.hpp"
#include "record/rank_folder.hpp"
#include "training/trainer.hpp"

namespace plumbline {

class RankTrainer : public Trainer {
 public:
  /// `world`: of all ranks. `record`: of the run. Throws InputError for weights of another model.
  RankTrainer(const Run& run, const PipelinePlan& plan, Transport& world, const std::filesystem::path& record);

  ~RankTrainer() override;
  RankTrainer(const RankTrainer&) = delete;
  RankTrainer& operator=(const RankTrainer&) = delete;

  /// Runs all steps, then a barrier.
  void train(bool show_progress);

 private:
  void ready() override;
  void train_step(std::int64_t step) override;
  std::optional<EvaluationResult> evaluate(std::int64_t step) override { return evaluation_->after(step); }
  void show_waits_on(ProgressLine* line) override;
  void step_recorded(std::int64_t step) override;
  void ending(bool well) override;
  TrainState& state() override { return parts_.state; }
  RankGroup& group() override { return world_; }

  bool owns_loss_;
  /// Compares the copies of a weight held by two stages after each update, if the record has tensor digests.
  bool compares_tied_copies_;
  RankFolders folders_;  ///< of the run's ranks
  std::int32_t lowest_stage_;
  Transport& world_;  ///< all ranks
  Group pipeline_;
  std::optional<ReplicaSum> replicas_;  ///< null: one pipeline trains
  RankParts parts_;
  ScheduleExecutor executor_;
  std::optional<Evaluation> evaluation_;  ///< only with validation data
};

}  // namespace plumbline
