// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/replica_messages.hpp"

#include <ATen/Tensor.h>

#include <utility>
#include <vector>

namespace plumbline {
namespace {

Operation operation(ActionType type, int peer, const ReplicaMessages::About& about, std::int64_t elements,
                    at::ScalarType dtype) {
  Operation made;
  made.action = {about.stage, type, about.bucket};
  made.peer = peer;
  made.header.direction = about.summed ? Direction::backward : Direction::forward;
  made.header.from_stage = about.stage;
  made.header.to_stage = about.stage;
  made.header.step = about.step;
  made.header.microbatch = about.bucket;
  made.header.dtype = static_cast<std::int32_t>(dtype);
  made.header.dimensions = 1;
  made.header.sizes = {elements, 0, 0, 0};
  return made;
}

}  // namespace

ReplicaMessages::Pending ReplicaMessages::post(Operation operation) {
  const int peer = operation.peer;
  std::vector<Operation> one;
  one.push_back(std::move(operation));
  return {world_.post(std::move(one)).front(), peer};
}

ReplicaMessages::Pending ReplicaMessages::send(int peer, const About& about, at::Tensor tensor) {
  const ActionType type = about.summed ? ActionType::send_backward : ActionType::send_forward;
  Operation made = operation(type, peer, about, tensor.numel(), tensor.scalar_type());
  made.payload = std::move(tensor);
  return post(std::move(made));
}

ReplicaMessages::Pending ReplicaMessages::receive(int peer, const About& about, std::int64_t elements,
                                                  at::ScalarType dtype) {
  const ActionType type = about.summed ? ActionType::receive_backward : ActionType::receive_forward;
  return post(operation(type, peer, about, elements, dtype));
}

at::Tensor ReplicaMessages::wait(const Pending& pending) {
  if (world_.test(pending.id)) return world_.wait(pending.id);
  if (wait_callback_) wait_callback_(pending.peer);
  at::Tensor received = world_.wait(pending.id);
  if (wait_callback_) wait_callback_(-1);
  return received;
}

}  // namespace plumbline
