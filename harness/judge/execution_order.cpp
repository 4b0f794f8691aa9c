// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/execution_order.hpp"

namespace plumbline::judging {
namespace {

template <class Enumeration>
constexpr std::int64_t number(Enumeration value) {
  return static_cast<std::int64_t>(value);
}

ExecutionPoint in_microbatch(std::int64_t step, std::int64_t microbatch, MicrobatchPart part, std::int64_t position = 0,
                             BoundaryEnd end = BoundaryEnd::sent) {
  return {OrderGroup::run, step, StepPhase::forward_backward, microbatch, part, position, number(end), 0};
}

ExecutionPoint in_step(std::int64_t step, StepPhase phase, std::int64_t position = 0, std::int64_t detail = 0,
                       std::int64_t place = 0) {
  return {OrderGroup::run, step, phase, 0, MicrobatchPart::data, position, detail, place};
}

}  // namespace

ExecutionPoint at_structure(Structure place, std::int64_t position) {
  ExecutionPoint point;
  point.position = number(place);
  point.detail = position;
  return point;
}

ExecutionPoint at_data(std::int64_t step, std::int64_t microbatch) {
  return in_microbatch(step, microbatch, MicrobatchPart::data);
}

ExecutionPoint at_boundary(std::int64_t step, std::int64_t microbatch, const std::string& direction,
                           std::int64_t boundary, BoundaryEnd end) {
  if (direction == "backward") return in_microbatch(step, microbatch, MicrobatchPart::backward, -boundary, end);
  return in_microbatch(step, microbatch, MicrobatchPart::forward, boundary, end);
}

ExecutionPoint at_loss(std::int64_t step, std::int64_t microbatch) {
  return in_microbatch(step, microbatch, MicrobatchPart::loss);
}

ExecutionPoint at_step_loss(std::int64_t step) {
  return in_step(step, StepPhase::step_loss);
}

ExecutionPoint at_gradient(std::int64_t step, std::int64_t position, std::int64_t stage) {
  return in_step(step, StepPhase::gradients, -position, 0, stage);
}

ExecutionPoint at_norm(std::int64_t step, NormPart part) {
  return in_step(step, StepPhase::norm, 0, number(part));
}

ExecutionPoint at_learning_rate(std::int64_t step) {
  return in_step(step, StepPhase::learning_rate);
}

ExecutionPoint at_parameter(std::int64_t step, std::int64_t position, StateKind kind, std::int64_t stage) {
  return in_step(step, StepPhase::update, position, number(kind), stage);
}

ExecutionPoint at_evaluation(std::int64_t step, std::int64_t microbatch) {
  return in_step(step, StepPhase::evaluation, microbatch);
}

ExecutionPoint off_path(std::int64_t step, OffPath place, std::int64_t rank, std::int64_t index) {
  ExecutionPoint point;
  point.group = OrderGroup::off_path;
  point.step = step;
  point.position = number(place);
  point.detail = index;
  point.place = rank;
  return point;
}

ExecutionPoint off_path_action(std::int64_t step, std::int64_t index, std::int64_t rank) {
  return off_path(step, OffPath::actions, rank, index);
}

ExecutionPoint at_the_end() {
  ExecutionPoint point;
  point.group = OrderGroup::end;
  return point;
}

}  // namespace plumbline::judging
