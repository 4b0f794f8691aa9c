// SPDX-License-Identifier: BSD-3-Clause
// Payloads of GPU tensors through host memory over a link, which makes every host transport a transport between GPUs,
// for several ranks on one GPU and for machines without NCCL. Unlike NCCL, each message synchronises with the GPU.
#pragma once

#include <map>
#include <memory>

#include "pipeline/transport/link_payloads.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

class StagedPayloads final : public PayloadChannel {
 public:
  /// `device`: of all payloads. The link must outlive this object.
  StagedPayloads(Link& link, at::Device device) : inner_(link), device_(device) {}

  at::Device device() const override { return device_; }
  bool respects_capacity() const override { return inner_.respects_capacity(); }
  bool carries_tied_tensors() const override { return true; }
  Handle send(int peer, Direction direction, const at::Tensor& payload) override;
  Handle receive(int peer, Direction direction) override { return inner_.receive(peer, direction); }
  void supply(Handle receive, const at::Tensor& buffer) override;
  std::optional<std::size_t> test(Handle handle) override;

 private:
  struct Staged {
    at::Tensor host;
    at::Tensor buffer;  ///< of a receive: the destination
  };
  LinkPayloads inner_;
  at::Device device_;
  std::map<Handle, Staged> staged_;
};

/// Null on the CPU, where payloads need no staging.
std::unique_ptr<PayloadChannel> make_staged_payloads(Link& link, at::Device device);

}  // namespace plumbline
