// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/link_payloads.hpp"

#include "schedule/direction.hpp"

namespace plumbline {
namespace {

Channel channel_of(Direction direction) {
  return direction == Direction::forward ? Channel::forward : Channel::backward;
}

}  // namespace

PayloadChannel::Handle LinkPayloads::send(int peer, Direction direction, const at::Tensor& payload) {
  started_[++last_handle_] = link_.send(peer, channel_of(direction), payload.const_data_ptr(), payload.nbytes());
  return last_handle_;
}

PayloadChannel::Handle LinkPayloads::receive(int peer, Direction direction) {
  const Edge edge{peer, direction};
  waiting_[++last_handle_] = {edge, {}};
  order_[edge].push_back(last_handle_);
  return last_handle_;
}

void LinkPayloads::supply(Handle receive, const at::Tensor& buffer) {
  Receive& waiting = waiting_.at(receive);
  waiting.buffer = buffer;
  start_receives(Edge(waiting.edge));
}

void LinkPayloads::start_receives(const Edge& edge) {
  std::deque<Handle>& order = order_[edge];
  while (!order.empty()) {
    const auto next = waiting_.find(order.front());
    const at::Tensor& buffer = next->second.buffer;
    if (!buffer.defined()) return;
    started_[next->first] =
        link_.receive(edge.first, channel_of(edge.second), buffer.mutable_data_ptr(), buffer.nbytes());
    waiting_.erase(next);
    order.pop_front();
  }
}

std::optional<std::size_t> LinkPayloads::test(Handle handle) {
  const auto started = started_.find(handle);
  if (started == started_.end()) return std::nullopt;
  const std::optional<std::size_t> bytes = link_.test(started->second);
  if (bytes) started_.erase(started);
  return bytes;
}

}  // namespace plumbline
