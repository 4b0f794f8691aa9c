// SPDX-License-Identifier: BSD-3-Clause
// Boundary tensors of one rank's stages: sent and received over the transport, or passed directly between two stages of
// the rank.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/transport/group.hpp"
#include "schedule/direction.hpp"
#include "training/run.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// The step's action number `index` in the form observers take.
StepAction observed(std::int64_t step, std::int64_t index, const Action& action);

class BoundaryMessages {
 public:
  /// References must outlive this object.
  BoundaryMessages(const Run& run, const PipelinePlan& plan, BatchPlan data, Group& group, StepObserver& observer);

  /// Posts the consecutive sends and receives `batch`, whose first action has index `first` in the list. Does not
  /// block.
  void post(std::int64_t step, std::int64_t first, std::span<const Action> batch);
  /// The input of a forward (backward) pass, from the stage before (after) it. Blocks if another rank sends it. Throws
  /// std::logic_error if it was neither pending nor stashed.
  at::Tensor receive_input(const StepAction& now, const Action& action, Direction direction);
  /// Stores a pass's output until it is sent or used by a stage of this rank.
  void stash_output(const Action& action, Direction direction, at::Tensor tensor);
  /// Releases the sends that have completed. wait_for_sends blocks until all have.
  void retire_completed_sends();
  void wait_for_sends();

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, Direction>;  // stage, microbatch, direction
  struct Message {
    Pending pending;
    StepAction action;
  };
  void start(const StepAction& now, const Action& action);
  MessageHeader header(std::int64_t step, std::int32_t from, std::int32_t to, std::int32_t microbatch) const;
  BoundaryTensor boundary_tensor(std::int64_t step, std::int64_t microbatch, std::int32_t from, std::int32_t to) const;
  int rank_of(std::int32_t stage) const { return plan_.schedule.placement.rank_of(stage); }

  const Run& run_;
  const PipelinePlan& plan_;
  BatchPlan data_;
  Group& group_;
  StepObserver& observer_;
  std::vector<std::string> units_;
  at::ScalarType dtype_;
  std::map<Key, Message> receives_;
  std::map<Key, at::Tensor> outputs_;
  std::vector<Message> sends_;
};

}  // namespace plumbline
