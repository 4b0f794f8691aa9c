// SPDX-License-Identifier: BSD-3-Clause
// Places in the order in which one device computes, so that "first divergence" means the same in every check.
#pragma once

#include <compare>
#include <cstdint>

namespace plumbline::judging {

/// What is no value on the ladder has a place too: structure before the run; memory, schedule and traffic beside it,
/// behind; and what shows only when all has been looked at, at the end.
enum class OrderGroup : std::int8_t { structure, run, beside, end };

/// Of a step, in order.
enum class StepPhase : std::int8_t { forward_backward, step_loss, gradients, norm, learning_rate, update, evaluation };

/// Of a microbatch, in order.
enum class MicrobatchPart : std::int8_t { data, forward, loss, backward };

/// Where a tensor that crosses a cut is looked at: as it is sent (or handed on within a rank), or as it arrives.
enum class BoundaryEnd : std::int8_t { sent, received };

enum class NormPart : std::int8_t { norm, clip_coefficient };

/// What the optimiser leaves, in the order of looking.
enum class StateKind : std::int8_t { parameter, copy, moment1, moment2 };

/// What is wrong with runs and records as a whole, in the order of looking.
enum class Structure : std::int8_t {
  reference_ended,
  candidate_ended,
  as_asked,
  records,  ///< whether they can be compared
  census,
  layerless_stages,
  layerless_parameters,
  impossible,  ///< a check met what no record can say
  audit,
};

/// Beside the run, in the order within a step: figures of the whole step, then its actions one by one. The last figures
/// of step -1 are the record's.
enum class Beside : std::int8_t {
  duration,
  state_of_rank,
  state_of_world,
  bounds,
  buffers,
  owned,
  total_peak,
  leak,
  gpu,
  process,
  whole_record,
  saved,
  actions,
  activation_peak,
};

/// A place in the execution order of docs/exactness.md; the earlier one compares less.
struct ExecutionPoint {
  OrderGroup group = OrderGroup::structure;
  std::int64_t step = 0;
  StepPhase phase = StepPhase::forward_backward;
  std::int64_t microbatch = 0;
  MicrobatchPart part = MicrobatchPart::data;
  std::int64_t position = 0;  ///< along the model, in a list of actions, among the figures of a step
  std::int64_t detail = 0;    ///< one of the enumerations above, or an index
  std::int64_t place = 0;     ///< stage or rank

  friend auto operator<=>(const ExecutionPoint&, const ExecutionPoint&) = default;
};

ExecutionPoint at_structure(Structure place = Structure::records, std::int64_t position = 0);
ExecutionPoint at_data(std::int64_t step, std::int64_t microbatch);
/// `boundary`: index of the crossing along the model.
ExecutionPoint at_forward(std::int64_t step, std::int64_t microbatch, std::int64_t boundary, BoundaryEnd end);
ExecutionPoint at_loss(std::int64_t step, std::int64_t microbatch);
/// Backward boundaries run from the last cut to the first.
ExecutionPoint at_backward(std::int64_t step, std::int64_t microbatch, std::int64_t boundary, BoundaryEnd end);
ExecutionPoint at_step_loss(std::int64_t step);
/// `position`: the parameter's place in canonical order. A gradient is computed before those that stand in front of it.
ExecutionPoint at_gradient(std::int64_t step, std::int64_t position, std::int64_t stage);
ExecutionPoint at_norm(std::int64_t step, NormPart part = NormPart::norm);
ExecutionPoint at_learning_rate(std::int64_t step);
/// Step -1 is the start.
ExecutionPoint at_parameter(std::int64_t step, std::int64_t position, StateKind kind, std::int64_t stage);
/// Behind the step.
ExecutionPoint at_evaluation(std::int64_t step, std::int64_t microbatch);
ExecutionPoint beside(std::int64_t step, Beside place, std::int64_t rank, std::int64_t index = 0);
/// `index`: of the action in its rank's list.
ExecutionPoint beside_action(std::int64_t step, std::int64_t index, std::int64_t rank);
ExecutionPoint at_the_end();

}  // namespace plumbline::judging
