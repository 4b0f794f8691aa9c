// SPDX-License-Identifier: BSD-3-Clause
// One rank's end of an edge, below the transport: the buffers are the test's own, and both ranks may be one thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <chrono>

#include "pipeline/transport/nccl/gpu_events.hpp"
#include "pipeline/transport/nccl/nccl_edge.hpp"
#include "schedule/direction.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {

class OneEnd {
 public:
  using Ticket = PayloadChannel::Ticket;

  OneEnd(int rank, GpuApi gpu)
      : events_(gpu.cuda), edge_(gpu, events_, {rank, 1 - rank, Direction::forward}, "id", {}) {}

  NcclEdge& edge() { return edge_; }
  /// A batch of one message.
  void send(Ticket ticket, const at::Tensor& payload) {
    edge_.send(ticket, payload);
    end_batch();
  }
  void receive(Ticket ticket, const at::Tensor& buffer) {
    edge_.receive(ticket);
    edge_.supply(ticket, buffer);
    end_batch();
  }
  void end_batch() {
    edge_.end_batch();
    ++to_launch_;
  }
  void progress() {
    edge_.progress();
    while (to_launch_ > 0 && edge_.connected() && edge_.launch()) --to_launch_;
  }

 private:
  GpuEvents events_;
  NcclEdge edge_;
  int to_launch_ = 0;
};

/// Moves both ends on until `over`; both ranks are this thread.
template <typename Over>
void move_on(OneEnd& one, OneEnd& other, const Over& over) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!over()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    one.progress();
    other.progress();
  }
}

}  // namespace plumbline::strict
