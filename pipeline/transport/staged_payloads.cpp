// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/staged_payloads.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "schedule/direction.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

// Not the transport's: what is planned for that are the tensors themselves, on their GPU.
constexpr MemoryOwner staging = MemoryOwner::other;

}  // namespace

PayloadChannel::Ticket StagedPayloads::send(int peer, Direction direction, const at::Tensor& payload) {
  const MemoryScope scope(staging);
  at::Tensor host = payload.to(at::kCPU, payload.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  const Ticket ticket = inner_.send(peer, direction, host);
  staged_[ticket].host = std::move(host);
  return ticket;
}

void StagedPayloads::supply(Ticket receive, const at::Tensor& buffer) {
  const MemoryScope scope(staging);
  Staged& staged = staged_[receive];
  staged = {at::empty(buffer.sizes(), buffer.options().device(at::kCPU)), buffer};
  inner_.supply(receive, staged.host);
}

std::optional<std::size_t> StagedPayloads::test(Ticket ticket) {
  const std::optional<std::size_t> bytes = inner_.test(ticket);
  if (!bytes) return bytes;
  const auto staged = staged_.extract(ticket);
  // Nothing is copied of a message that is not what was expected: who asked refuses it by its bytes.
  const auto& [host, buffer] = staged.mapped();
  if (buffer.defined() && *bytes == buffer.nbytes()) buffer.copy_(host);
  return bytes;
}

std::unique_ptr<PayloadChannel> make_staged_payloads(Link& link, at::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_unique<StagedPayloads>(link, device);
}

}  // namespace plumbline
