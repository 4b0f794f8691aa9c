// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/staged_payloads.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "schedule/direction.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

// Not MemoryOwner::transport: the memory model's transport bytes are those of the GPU tensors.
constexpr MemoryOwner staging = MemoryOwner::other;

}  // namespace

PayloadChannel::Handle StagedPayloads::send(int peer, Direction direction, const at::Tensor& payload) {
  const MemoryScope scope(staging);
  at::Tensor host = payload.to(at::kCPU, payload.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  const Handle handle = inner_.send(peer, direction, host);
  staged_[handle].host = std::move(host);
  return handle;
}

void StagedPayloads::supply(Handle receive, const at::Tensor& buffer) {
  const MemoryScope scope(staging);
  Staged& staged = staged_[receive];
  staged = {at::empty(buffer.sizes(), buffer.options().device(at::kCPU)), buffer};
  inner_.supply(receive, staged.host);
}

std::optional<std::size_t> StagedPayloads::test(Handle handle) {
  const std::optional<std::size_t> bytes = inner_.test(handle);
  if (!bytes) return bytes;
  const auto staged = staged_.extract(handle);
  // A message of unexpected size is not copied; the caller refuses it by its byte count.
  const auto& [host, buffer] = staged.mapped();
  if (buffer.defined() && *bytes == buffer.nbytes()) buffer.copy_(host);
  return bytes;
}

std::unique_ptr<PayloadChannel> make_staged_payloads(Link& link, at::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_unique<StagedPayloads>(link, device);
}

}  // namespace plumbline
