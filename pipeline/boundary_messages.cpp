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
auto take(Map& map, const typename Map::key_type& key, const Action& action) {
  auto found = map.extract(key);
  if (!found) throw std::logic_error("action " + to_text(action) + " stands before what it needs");
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

at::Tensor BoundaryMessages::arrival(const StepAction& now, const Action& action, Direction direction) {
  const std::int32_t from = direction == Direction::forward ? action.stage - 1 : action.stage + 1;
  Crossing crossed = crossing(now.step, action.microbatch, from, action.stage);
  at::Tensor tensor;
  if (rank_of(from) == transport_.rank()) {
    crossed.side = "local";
    tensor = take(leaving_, {from, action.microbatch, direction}, action);
  } else {
    crossed.side = "receive";
    const Posted posted = take(arriving_, {action.stage, action.microbatch, direction}, action);
    observer_.waiting(now, posted.action, rank_of(from));
    const std::int64_t begin_ns = monotonic_ns();
    tensor = transport_.wait(posted.id);
    observer_.action_ended(posted.action);
    observer_.waited(now, monotonic_ns() - begin_ns);
  }
  crossed.peer = rank_of(from);
  observer_.crossed(crossed, tensor);
  retag(tensor, MemoryOwner::activations);
  return tensor;
}

void BoundaryMessages::hand_over(const Action& action, Direction direction, at::Tensor tensor) {
  {
    const MemoryScope scope(MemoryOwner::transport);
    tensor = tensor.contiguous();
  }
  retag(tensor, MemoryOwner::transport);
  leaving_.emplace(Key{action.stage, action.microbatch, direction}, std::move(tensor));
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
    Posted posted{ids[i], std::move(actions[i])};
    if (is_send(batch[i].type)) {
      sends_.push_back(std::move(posted));
    } else {
      arriving_.emplace(Key{batch[i].stage, batch[i].microbatch, direction}, std::move(posted));
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
    operation.payload = take(leaving_, {action.stage, action.microbatch, header.direction}, action);
    Crossing crossed = crossing(step, action.microbatch, from, to);
    crossed.side = "send";
    crossed.peer = operation.peer;
    observer_.crossed(crossed, operation.payload);
  }
  return operation;
}

void BoundaryMessages::reap_all_sends() {
  transport_.reap_sends();
  reap_sends();
}

void BoundaryMessages::reap_sends() {
  std::erase_if(sends_, [&](const Posted& posted) {
    if (!transport_.test(posted.id)) return false;
    observer_.action_ended(posted.action);
    return true;
  });
}

/// A cut is named by the unit after it; an empty stage starts at the next unit downstream.
Crossing BoundaryMessages::crossing(std::int64_t step, std::int64_t microbatch, std::int32_t from,
                                    std::int32_t to) const {
  const UnitRange upper = plan_.stages.at(static_cast<std::size_t>(std::max(from, to)));
  const Direction direction = from < to ? Direction::forward : Direction::backward;
  return {step, microbatch, to_text(direction), units_.at(static_cast<std::size_t>(upper.first)), "", from, to};
}

}  // namespace plumbline
