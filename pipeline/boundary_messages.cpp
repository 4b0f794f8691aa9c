// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/boundary_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/unit.hpp"
#include "pipeline/transport/message.hpp"
#include "schedule/message.hpp"
#include "training/action_log.hpp"
#include "training/memory_meter.hpp"
#include "training/run.hpp"

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

BoundaryMessages::BoundaryMessages(const Run& run, const PipelinePlan& plan, BatchPlan data, Group& group,
                                   StepObserver& observer)
    : run_(run),
      plan_(plan),
      data_(std::move(data)),
      group_(group),
      observer_(observer),
      units_(unit_names(run.config)),
      dtype_(computed_type(run.train)) {}

at::Tensor BoundaryMessages::receive_input(const StepAction& now, const Action& action, Direction direction) {
  const std::int32_t from = direction == Direction::forward ? action.stage - 1 : action.stage + 1;
  BoundaryTensor boundary = boundary_tensor(now.step, action.microbatch, from, action.stage);
  at::Tensor tensor;
  if (rank_of(from) == group_.rank()) {
    boundary.side = "local";
    tensor = extract(outputs_, {from, action.microbatch, direction}, action);
  } else {
    boundary.side = "receive";
    Message message = extract(receives_, {action.stage, action.microbatch, direction}, action);
    observer_.waiting(now, message.action, rank_of(from));
    const std::int64_t begin_ns = monotonic_ns();
    tensor = message.pending->wait();
    observer_.action_ended(message.action);
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
  for (const Action& action : batch) {
    const StepAction now = observed(step, first++, action);
    observer_.action_began(now);
    start(now, action);
  }
  group_.world().end_batch();
}

void BoundaryMessages::start(const StepAction& now, const Action& action) {
  const Direction direction = direction_of(action.type);
  const std::int32_t other = partner(action).stage;
  const int peer = rank_of(other);
  const Key key{action.stage, action.microbatch, direction};
  if (!is_send(action.type)) {
    Pending pending = group_.receive(peer, header(now.step, other, action.stage, action.microbatch));
    receives_.emplace(key, Message{std::move(pending), now});
    return;
  }
  at::Tensor output = extract(outputs_, key, action);
  BoundaryTensor boundary = boundary_tensor(now.step, action.microbatch, action.stage, other);
  boundary.side = "send";
  boundary.peer = peer;
  observer_.on_boundary(boundary, output);
  Pending pending = group_.send(peer, header(now.step, action.stage, other, action.microbatch), std::move(output));
  sends_.push_back({std::move(pending), now});
}

MessageHeader BoundaryMessages::header(std::int64_t step, std::int32_t from, std::int32_t to,
                                       std::int32_t microbatch) const {
  MessageHeader header;
  header.direction = from < to ? Direction::forward : Direction::backward;
  header.from_stage = from;
  header.to_stage = to;
  header.step = step;
  header.microbatch = microbatch;
  header.dtype = static_cast<std::int32_t>(dtype_);
  header.dimensions = 3;
  header.sizes = {data_.batch(microbatch), data_.sequence_length(microbatch), run_.config.hidden_size, 0};
  return header;
}

void BoundaryMessages::wait_for_sends() {
  group_.world().wait_for_sends();
  retire_completed_sends();
}

void BoundaryMessages::retire_completed_sends() {
  std::erase_if(sends_, [&](Message& message) {
    if (!message.pending->test()) return false;
    observer_.action_ended(message.action);
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
