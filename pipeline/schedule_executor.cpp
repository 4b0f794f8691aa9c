// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/schedule_executor.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "pipeline/step_end.hpp"
#include "schedule/direction.hpp"
#include "training/action_log.hpp"
#include "training/gradient_norm.hpp"

namespace plumbline {

ScheduleExecutor::ScheduleExecutor(const Run& run, const PipelinePlan& plan, RankParts& parts, ActionList list,
                                   Pass pass)
    : run_(run),
      plan_(plan),
      parts_(parts),
      pipeline_(parts.pipeline),
      list_(std::move(list)),
      pass_(std::move(pass)),
      observer_(pass_.observer),
      messages_(run, plan, pass_.data, parts.pipeline, observer_) {}

void ScheduleExecutor::step(std::int64_t step) {
  if (std::ranges::any_of(parts_.stages, [](const auto& each) { return each->last(); })) {
    pass_.valid_tokens = pass_.data.step_valid_tokens(pass_.trains ? step : 0);
  }
  const auto message = [](const Action& action) { return is_communication(action.type); };
  for (auto next = list_.begin(); next != list_.end();) {
    const std::int64_t index = next - list_.begin();
    const auto end = std::find_if_not(next, list_.end(), message);
    if (next != end) {
      messages_.post(step, index, {next, end});
      next = end;
    } else {
      run(observed(step, index, *next), *next);
      ++next;
    }
  }
  messages_.wait_for_sends();
}

void ScheduleExecutor::run(const StepAction& now, const Action& action) {
  observer_.action_began(now);
  switch (action.type) {
    case ActionType::forward:
      forward(now, action);
      break;
    case ActionType::backward:
    case ActionType::backward_input:
      backward(now, action);
      break;
    case ActionType::backward_weight:
      stage(action.stage).backward_weight(now.step, action.microbatch);
      break;
    case ActionType::reduce:
      pipeline_.world().wait_for_payloads();
      finish_replica_sums(now);
      reduce(now, action);
      break;
    case ActionType::step:
      pipeline_.world().wait_for_payloads();  // the host reads the norms
      finish_replica_sums(now);
      update(now);
      break;
    default:
      throw std::logic_error("action " + now.text + " cannot be executed yet");
  }
  observer_.action_ended(now);
  if (!now.computes) return;
  messages_.retire_completed_sends();
  if (parts_.replicas == nullptr || !pass_.trains) return;
  if (ends_gradients(now.index)) parts_.replicas->start(now.step, action.stage, parts_.state);
  parts_.replicas->progress();
}

void ScheduleExecutor::forward(const StepAction& now, const Action& action) {
  Stage& here = stage(action.stage);
  at::Tensor input = here.first() ? at::Tensor() : messages_.receive_input(now, action, Direction::forward);
  at::Tensor output = here.forward(pass_, now.step, action.microbatch, std::move(input));
  if (!here.last()) messages_.stash_output(action, Direction::forward, std::move(output));
}

void ScheduleExecutor::backward(const StepAction& now, const Action& action) {
  Stage& here = stage(action.stage);
  at::Tensor gradient = here.last() ? at::Tensor() : messages_.receive_input(now, action, Direction::backward);
  gradient = action.type == ActionType::backward
                 ? here.backward(now.step, action.microbatch, std::move(gradient))
                 : here.backward_input(now.step, action.microbatch, std::move(gradient));
  if (!here.first()) messages_.stash_output(action, Direction::backward, std::move(gradient));
}

bool ScheduleExecutor::ends_gradients(std::int64_t index) const {
  const auto adds = [&](const Action& each) {
    return each.type == ActionType::backward || each.type == ActionType::backward_weight;
  };
  const auto at = list_.begin() + index;
  return adds(*at) && std::none_of(at + 1, list_.end(),
                                   [&](const Action& later) { return adds(later) && later.stage == at->stage; });
}

/// Before the gradients' first use: REDUCE on a rank with a tied weight, else STEP. So the uses of a tied weight are
/// summed over replicas each, then added.
void ScheduleExecutor::finish_replica_sums(const StepAction& now) {
  if (parts_.replicas == nullptr) return;
  const std::int64_t begin_ns = monotonic_ns();
  parts_.replicas->finish();
  observer_.waited(now, monotonic_ns() - begin_ns);
}

void ScheduleExecutor::reduce(const StepAction& now, const Action& action) {
  const TiedWeight tied(run_.config.tied, parts_.state);
  const bool head = action.stage != 0;
  const Placement& placement = plan_.schedule.placement;
  const int peer = placement.rank_of(head ? 0 : placement.stages() - 1);
  if (peer != pipeline_.rank()) observer_.waiting(now, now, peer);
  const std::int64_t waited_ns = exchange_tied_gradients(pipeline_, tied, peer, now.step, placement.stages() - 1);
  if (peer != pipeline_.rank()) observer_.waited(now, waited_ns);
}

void ScheduleExecutor::update(const StepAction& now) {
  end_gradients(run_, now.step, parts_.state, observer_, [&] {
    const std::vector<ParameterNorm> own = gradient_norms(run_.config, parts_.state);
    const std::int64_t begin_ns = monotonic_ns();
    const bool counts = parts_.replicas == nullptr || parts_.replicas->replica() == 0;
    const double norm = global_norm(pipeline_.world(), run_.config, own, counts);
    observer_.waited(now, monotonic_ns() - begin_ns);
    return norm;
  });
}

Stage& ScheduleExecutor::stage(std::int64_t index) const {
  const auto found = std::ranges::find(parts_.stages, index, [](const auto& each) { return each->index(); });
  if (found == parts_.stages.end()) throw std::logic_error("stage " + std::to_string(index) + " is on another rank");
  return **found;
}

}  // namespace plumbline
