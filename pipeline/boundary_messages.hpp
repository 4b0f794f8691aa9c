// SPDX-License-Identifier: BSD-3-Clause
// What crosses from stage to stage of one rank's: over the transport to and from other ranks, by hand within the rank.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/transport.hpp"
#include "schedule/direction.hpp"
#include "training/step_observer.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// The `index`th action of the step, as observers see it.
StepAction observed(std::int64_t step, std::int64_t index, const Action& action);

class BoundaryMessages {
 public:
  /// All outlive it.
  BoundaryMessages(const TrainingRun& training, const PipelinePlan& plan, Transport& transport, StepObserver& observer);

  /// Starts the sends and receives that stand together in a list, from its `first` action on, and returns at once.
  void post(std::int64_t step, std::int64_t first, std::span<const Action> batch);
  /// What a forward (backward) pass takes from the stage below (above): waits for it where another rank sends it.
  /// Throws std::logic_error where nothing of the kind was posted or handed over.
  at::Tensor arrival(const StepAction& now, const Action& action, Direction direction);
  /// Keeps what a pass gives for the stage above (below), until it is sent or taken.
  void hand_over(const Action& action, Direction direction, at::Tensor tensor);
  /// Lets go of the sends that have ended; of all of them, waiting where it must.
  void reap_sends();
  void reap_all_sends();

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, Direction>;  // stage, microbatch, direction
  struct Posted {
    OperationId id = 0;
    StepAction action;
  };
  Operation operation(std::int64_t step, const Action& action);
  Crossing crossing(std::int64_t step, std::int64_t microbatch, std::int32_t from, std::int32_t to) const;
  int rank_of(std::int32_t stage) const { return plan_.schedule.placement.rank_of(stage); }

  const TrainingRun& training_;
  const PipelinePlan& plan_;
  Transport& transport_;
  StepObserver& observer_;
  std::vector<std::string> units_;
  at::ScalarType dtype_;
  std::map<Key, Posted> arriving_;
  std::map<Key, at::Tensor> leaving_;
  std::vector<Posted> sends_;
};

}  // namespace plumbline
