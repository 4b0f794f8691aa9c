// SPDX-License-Identifier: BSD-3-Clause
// Executes one rank's action list in a step.
#pragma once

#include <cstdint>

#include "pipeline/boundary_messages.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_parts.hpp"
#include "training/step_observer.hpp"
#include "training/training_run.hpp"

namespace plumbline {

class ScheduleExecutor {
 public:
  /// All arguments must outlive this object.
  ScheduleExecutor(const TrainingRun& training, const PipelinePlan& plan, RankParts& parts, StepObserver& observer);

  void step(std::int64_t step);

 private:
  void run(const StepAction& now, const Action& action);
  void forward(const StepAction& now, const Action& action);
  void backward(const StepAction& now, const Action& action);  ///< B and I
  void sum_replicas(const StepAction& now);
  void reduce(const StepAction& now, const Action& action);
  void update(const StepAction& now);
  Stage& stage(std::int64_t index) const;

  const TrainingRun& training_;
  const PipelinePlan& plan_;
  RankParts& parts_;
  Transport& transport_;
  StepObserver& observer_;
  BoundaryMessages messages_;
  std::int64_t summed_step_ = -1;  ///< whose gradients are summed over replicas
};

}  // namespace plumbline
