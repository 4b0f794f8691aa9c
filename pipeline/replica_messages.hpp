// SPDX-License-Identifier: BSD-3-Clause
// Messages between ranks of the same place in different replicas of the pipeline. The only code that hands such
// messages to a transport.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

class ReplicaMessages {
 public:
  /// What both ends of a message must agree about.
  struct About {
    std::int64_t step = 0;
    std::int32_t stage = 0;   ///< lowest of the rank's stages
    std::int32_t bucket = 0;  ///< number of the exchange within the step
    bool summed = false;      ///< holds a sum over replicas
  };
  struct InProgress {
    Pending pending;
    int peer = 0;
  };

  /// `world`: of all replicas. Both must outlive this object.
  ReplicaMessages(Transport& world, at::Device device) : world_(world), device_(device) {}

  void set_wait_callback(WaitCallback callback) { wait_callback_ = std::move(callback); }

  /// `peer`: a rank of the run. `tensor`: contiguous, of one dimension; kept until the message has completed. None of
  /// these calls blocks.
  InProgress send(int peer, const About& about, at::Tensor tensor);
  InProgress receive(int peer, const About& about, std::int64_t elements, at::ScalarType dtype);
  InProgress receive_into(int peer, const About& about, at::Tensor tensor);
  /// Blocks until it has completed. Returns what was received; undefined for a send. Throws as Pending::wait.
  at::Tensor wait(InProgress& message);

  at::Device device() const { return device_; }

 private:
  Transport& world_;
  at::Device device_;
  WaitCallback wait_callback_;
};

}  // namespace plumbline
