// SPDX-License-Identifier: BSD-3-Clause
// Executes one rank's action list: in a step, or in an evaluation.
#pragma once

#include <cstdint>

#include "pipeline/boundary_messages.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/stage.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

class ScheduleExecutor {
 public:
  /// `list`: lowered. `pass`: what the list's forward passes compute. All arguments but these must outlive this object,
  /// and what `pass` refers to.
  ScheduleExecutor(const Run& run, const PipelinePlan& plan, RankParts& parts, ActionList list, Pass pass);

  void step(std::int64_t step);

 private:
  void run(const StepAction& now, const Action& action);
  void forward(const StepAction& now, const Action& action);
  void backward(const StepAction& now, const Action& action);  ///< B and I
  /// Whether no later action adds to the gradients of this one's stage.
  bool ends_gradients(std::int64_t index) const;
  void finish_replica_sums(const StepAction& now);
  void reduce(const StepAction& now, const Action& action);
  void update(const StepAction& now);
  Stage& stage(std::int64_t index) const;

  const Run& run_;
  const PipelinePlan& plan_;
  RankParts& parts_;
  Group& pipeline_;
  ActionList list_;
  Pass pass_;
  StepObserver& observer_;
  BoundaryMessages messages_;
};

}  // namespace plumbline
