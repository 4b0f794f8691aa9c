// SPDX-License-Identifier: BSD-3-Clause
// Points in the execution order of a single device, so that "first divergence" has one meaning for all checks.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {

/// The coarse order. Findings other than compared values have points, too: structure before the run; memory, schedule
/// and traffic off path, after it; and what only the complete records show, at the end.
enum class OrderGroup : std::int8_t { structure, run, off_path, end };

/// Phases of a step, in order.
enum class StepPhase : std::int8_t {
  forward_backward,
  step_loss,
  gradients,
  norm,
  applied,
  learning_rate,
  update,
  evaluation
};

/// Phases of a microbatch, in order.
enum class MicrobatchPart : std::int8_t { data, forward, loss, backward };

/// Where a boundary tensor is inspected: when it is sent (or passed on within a rank), or when it is received.
enum class BoundaryEnd : std::int8_t { sent, received };

enum class NormPart : std::int8_t { norm, clip_coefficient };

/// Results of the optimizer, in the order of comparison.
enum class StateKind : std::int8_t { parameter, copy, moment1, moment2, buffer };

/// Faults of runs and records as a whole, in the order of inspection.
enum class Structure : std::int8_t {
  reference_ended,
  candidate_ended,
  as_asked,
  records,  ///< comparability
  census,
  layerless_stages,
  layerless_parameters,
  impossible,  ///< a check found a contradiction in a record
  audit,
};

/// Off-path findings, ordered within a step: figures of the whole step, then its actions. The last figures of step -1
/// are the whole record's.
enum class OffPath : std::int8_t {
  state_of_rank,
  whole_record,
  actions,
  activation_peak,
};

/// A point in the execution order of docs/exactness.md; earlier points compare less.
struct ExecutionPoint {
  OrderGroup group = OrderGroup::structure;
  std::int64_t step = 0;
  StepPhase phase = StepPhase::forward_backward;
  std::int64_t microbatch = 0;
  MicrobatchPart part = MicrobatchPart::data;
  std::int64_t position = 0;  ///< index in the model, in a list of actions, or among the figures of a step
  std::int64_t detail = 0;    ///< a value of an enumeration above, or an index
  std::int64_t place = 0;     ///< stage or rank

  friend auto operator<=>(const ExecutionPoint&, const ExecutionPoint&) = default;
};

template <class Enumeration>
constexpr std::int64_t number_of(Enumeration value) {
  return static_cast<std::int64_t>(value);
}

inline ExecutionPoint in_microbatch(std::int64_t step, std::int64_t microbatch, MicrobatchPart part,
                                    std::int64_t position = 0, BoundaryEnd end = BoundaryEnd::sent) {
  return {OrderGroup::run, step, StepPhase::forward_backward, microbatch, part, position, number_of(end), 0};
}

inline ExecutionPoint in_step(std::int64_t step, StepPhase phase, std::int64_t position = 0, std::int64_t detail = 0,
                              std::int64_t place = 0) {
  return {OrderGroup::run, step, phase, 0, MicrobatchPart::data, position, detail, place};
}

inline ExecutionPoint at_structure(Structure place = Structure::records, std::int64_t position = 0) {
  return {.position = number_of(place), .detail = position};
}

inline ExecutionPoint at_data(std::int64_t step, std::int64_t microbatch) {
  return in_microbatch(step, microbatch, MicrobatchPart::data);
}

/// `direction`: forward | backward; `boundary`: index of the stage boundary in the model's order. Backward, they are
/// ordered from the last to the first.
inline ExecutionPoint at_boundary(std::int64_t step, std::int64_t microbatch, const std::string& direction,
                                  std::int64_t boundary, BoundaryEnd end = BoundaryEnd::sent) {
  if (direction == "backward") return in_microbatch(step, microbatch, MicrobatchPart::backward, -boundary, end);
  return in_microbatch(step, microbatch, MicrobatchPart::forward, boundary, end);
}

inline ExecutionPoint at_loss(std::int64_t step, std::int64_t microbatch) {
  return in_microbatch(step, microbatch, MicrobatchPart::loss);
}

inline ExecutionPoint at_step_loss(std::int64_t step) {
  return in_step(step, StepPhase::step_loss);
}

/// `position`: the parameter's index in canonical order. Gradients are computed in the reverse order.
inline ExecutionPoint at_gradient(std::int64_t step, std::int64_t position, std::int64_t stage) {
  return in_step(step, StepPhase::gradients, -position, 0, stage);
}

inline ExecutionPoint at_norm(std::int64_t step, NormPart part = NormPart::norm) {
  return in_step(step, StepPhase::norm, 0, number_of(part));
}

inline ExecutionPoint at_learning_rate(std::int64_t step) {
  return in_step(step, StepPhase::learning_rate);
}

/// Step -1 is the start.
inline ExecutionPoint at_parameter(std::int64_t step, std::int64_t position, StateKind kind, std::int64_t stage) {
  return in_step(step, StepPhase::update, position, number_of(kind), stage);
}

/// After the step.
inline ExecutionPoint at_evaluation(std::int64_t step, std::int64_t microbatch) {
  return in_step(step, StepPhase::evaluation, microbatch);
}

inline ExecutionPoint off_path(std::int64_t step, OffPath place, std::int64_t rank, std::int64_t index = 0) {
  return {.group = OrderGroup::off_path, .step = step, .position = number_of(place), .detail = index, .place = rank};
}

/// `index`: of the action in its rank's list.
inline ExecutionPoint off_path_action(std::int64_t step, std::int64_t index, std::int64_t rank) {
  return off_path(step, OffPath::actions, rank, index);
}

inline ExecutionPoint at_the_end() {
  return {.group = OrderGroup::end};
}

ExecutionPoint point_of(const StepEvidence& now, const Fact& fact);

/// Position of a parameter's gradient by the order in which a forward pass uses parameters; gradients that the backward
/// pass computes later have smaller positions. `parameter`: its index in the model.
std::int64_t gradient_position(const ExpectedModel& model, const Manifest& candidate, std::size_t parameter);

/// The same for a row of any kind: the parameter's index for kinds other than gradients; 0 for no parameter of the
/// model.
std::int64_t position_of(const ExpectedModel& model, const Manifest& candidate, const std::string& kind,
                         const std::string& parameter);

/// The execution point of a parameter's row of this kind; `position`: see position_of.
ExecutionPoint tensor_point(std::int64_t step, const std::string& kind, std::int64_t position, std::int64_t stage);

}  // namespace plumbline::judging
