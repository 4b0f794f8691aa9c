// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/replica_messages.hpp"

#include <ATen/Tensor.h>

#include <utility>

namespace plumbline {
namespace {

MessageHeader header_of(const ReplicaMessages::About& about, std::int64_t elements, at::ScalarType dtype) {
  MessageHeader header;
  header.direction = about.summed ? Direction::backward : Direction::forward;
  header.from_stage = about.stage;
  header.to_stage = about.stage;
  header.step = about.step;
  header.microbatch = about.bucket;
  header.dtype = static_cast<std::int32_t>(dtype);
  header.dimensions = 1;
  header.sizes = {elements, 0, 0, 0};
  return header;
}

}  // namespace

ReplicaMessages::InProgress ReplicaMessages::send(int peer, const About& about, at::Tensor tensor) {
  const MessageHeader header = header_of(about, tensor.numel(), tensor.scalar_type());
  return {world_.send(peer, header, std::move(tensor)), peer};
}

ReplicaMessages::InProgress ReplicaMessages::receive(int peer, const About& about, std::int64_t elements,
                                                     at::ScalarType dtype) {
  return {world_.receive(peer, header_of(about, elements, dtype)), peer};
}

ReplicaMessages::InProgress ReplicaMessages::receive_into(int peer, const About& about, at::Tensor tensor) {
  const MessageHeader header = header_of(about, tensor.numel(), tensor.scalar_type());
  return {world_.receive(peer, header, std::move(tensor)), peer};
}

at::Tensor ReplicaMessages::wait(InProgress& message) {
  if (message.pending.test()) return message.pending.wait();
  if (wait_callback_) wait_callback_(message.peer);
  at::Tensor received = message.pending.wait();
  if (wait_callback_) wait_callback_(-1);
  return received;
}

}  // namespace plumbline
