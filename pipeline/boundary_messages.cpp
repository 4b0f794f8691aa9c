// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/boundary_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/unit.hpp"
#include "pipeline/transport/message_header.hpp"
#include "schedule/message.hpp"
#include "training/action_log.hpp"
#include "training/memory_meter.hpp"
#include "training/precision.hpp"

namespace plumbline {
namespace {

template <typename Map>
auto extract(Map& map, const typename Map::key_type& key, const Action& action) {
  auto found = map.extract(key);
  if (!found) throw std::logic_error("action " + to_text(action) + " precedes the action that provides its input");
  return std::move(found.mapped());
}

}  // namespace

StepAction observed(std::int64_t step, std::int64_t index, const Action& action) {
  StepAction made{step, index, to_text(action), action.stage, std::nullopt, is_compute(action.type)};
  if (action.microbatch != no_microbatch) made.microbatch = action.microbatch;
  return made;
}

BoundaryMessages::BoundaryMessages(const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                                   StepObserver& observer)
    : training_(training),
      plan_(plan),
      transport_(transport),
      observer_(observer),
      units_(unit_names(training.config)),
      dtype_(computed_type(training.run.train)) {}

at::Tensor BoundaryMessages::receive_input(const StepAction& now, const Action& action, Direction direction) {
  const std::int32_t from = direction == Direction::forward ? action.stage - 1 : action.stage + 1;
  BoundaryTensor boundary = boundary_tensor(now.step, action.microbatch, from, action.stage);
  at::Tensor tensor;
  if (rank_of(from) == transport_.rank()) {
    boundary.side = "local";
    tensor = extract(outputs_, {from, action.microbatch, direction}, action);
  } else {
    boundary.side = "receive";
    const Pending pending = extract(receives_, {action.stage, action.microbatch, direction}, action);
    observer_.waiting(now, pending.action, rank_of(from));
    const std::int64_t begin_ns = monotonic_ns();
    tensor = transport_.wait(pending.id);
    observer_.action_ended(pending.action);
    observer_.waited(now, monotonic_ns() - begin_ns);
  }
  boundary.peer = rank_of(from);
  observer_.on_boundary(boundary, tensor);
  retag(tensor, MemoryOwner::activations);
  return tensor;
}

void BoundaryMessages::stash_output(const Action& action, Direction direction, at::Tensor tensor) {
  {
    const MemoryScope scope(MemoryOwner::transport);
    tensor = tensor.contiguous();
  }
  retag(tensor, MemoryOwner::transport);
  outputs_.emplace(Key{action.stage, action.microbatch, direction}, std::move(tensor));
}

void BoundaryMessages::post(std::int64_t step, std::int64_t first, std::span<const Action> batch) {
  std::vector<StepAction> actions;
  std::vector<Operation> operations;
  for (const Action& action : batch) {
    actions.push_back(observed(step, first++, action));
    observer_.action_began(actions.back());
    operations.push_back(operation(step, action));
  }
  const std::vector<OperationId> ids = transport_.post(std::move(operations));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Direction direction = direction_of(batch[i].type);
    Pending pending{ids[i], std::move(actions[i])};
    if (is_send(batch[i].type)) {
      sends_.push_back(std::move(pending));
    } else {
      receives_.emplace(Key{batch[i].stage, batch[i].microbatch, direction}, std::move(pending));
    }
  }
}

Operation BoundaryMessages::operation(std::int64_t step, const Action& action) {
  const std::int32_t other = partner(action).stage;
  const auto [from, to] = is_send(action.type) ? std::pair(action.stage, other) : std::pair(other, action.stage);
  Operation operation;
  operation.action = action;
  operation.peer = rank_of(other);
  MessageHeader& header = operation.header;
  header.direction = from < to ? Direction::forward : Direction::backward;
  header.from_stage = from;
  header.to_stage = to;
  header.step = step;
  header.microbatch = action.microbatch;
  header.dtype = static_cast<std::int32_t>(dtype_);
  header.dimensions = 3;
  header.sizes = {training_.plan.batch(action.microbatch), training_.plan.sequence_length(action.microbatch),
                  training_.config.hidden_size, 0};
  if (is_send(action.type)) {
    operation.payload = extract(outputs_, {action.stage, action.microbatch, header.direction}, action);
    BoundaryTensor boundary = boundary_tensor(step, action.microbatch, from, to);
    boundary.side = "send";
    boundary.peer = operation.peer;
    observer_.on_boundary(boundary, operation.payload);
  }
  return operation;
}

void BoundaryMessages::wait_for_sends() {
  transport_.wait_for_sends();
  retire_completed_sends();
}

void BoundaryMessages::retire_completed_sends() {
  std::erase_if(sends_, [&](const Pending& pending) {
    if (!transport_.test(pending.id)) return false;
    observer_.action_ended(pending.action);
    return true;
  });
}

/// A boundary is named by the unit downstream of it; an empty stage starts at the next unit downstream.
BoundaryTensor BoundaryMessages::boundary_tensor(std::int64_t step, std::int64_t microbatch, std::int32_t from,
                                                 std::int32_t to) const {
  const UnitRange upper = plan_.stages.at(static_cast<std::size_t>(std::max(from, to)));
  const Direction direction = from < to ? Direction::forward : Direction::backward;
  return {step, microbatch, to_text(direction), units_.at(static_cast<std::size_t>(upper.first)), "", from, to};
}

}  // namespace plumbline
