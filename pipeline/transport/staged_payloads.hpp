// SPDX-License-Identifier: BSD-3-Clause
// Payloads of tensors on a GPU, through host memory over a link: what makes every host transport a transport between
// GPUs, for several ranks on one GPU and for machines without NCCL. Each message waits for the GPU; NCCL does not.
#pragma once

#include <map>
#include <memory>

#include "pipeline/transport/link_payloads.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

class StagedPayloads final : public PayloadChannel {
 public:
  /// `device`: of all tensors that travel. The link outlives it.
  StagedPayloads(Link& link, at::Device device) : inner_(link), device_(device) {}

  at::Device device() const override { return device_; }
  bool respects_capacity() const override { return inner_.respects_capacity(); }
  bool carries_tied_tensors() const override { return true; }
  Ticket send(int peer, Direction direction, const at::Tensor& payload) override;
  Ticket receive(int peer, Direction direction) override { return inner_.receive(peer, direction); }
  void supply(Ticket receive, const at::Tensor& buffer) override;
  std::optional<std::size_t> test(Ticket ticket) override;

 private:
  struct Staged {
    at::Tensor host;
    at::Tensor buffer;  ///< of a receive: where it goes
  };
  LinkPayloads inner_;
  at::Device device_;
  std::map<Ticket, Staged> staged_;
};

/// Null on the CPU, where payloads need no staging.
std::unique_ptr<PayloadChannel> make_staged_payloads(Link& link, at::Device device);

}  // namespace plumbline
