// SPDX-License-Identifier: BSD-3-Clause
// One rank's end of an edge, below the transport: the buffers belong to the test, and both ranks may be one thread.
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
  using Handle = PayloadChannel::Handle;

  OneEnd(int rank, GpuApi gpu)
      : events_(gpu.cuda), edge_(gpu, events_, {rank, 1 - rank, Direction::forward}, "id", {}) {}

  NcclEdge& edge() { return edge_; }
  /// A batch of one message.
  void send(Handle handle, const at::Tensor& payload) {
    edge_.send(handle, payload);
    end_batch();
  }
  void receive(Handle handle, const at::Tensor& buffer) {
    edge_.receive(handle);
    edge_.supply(handle, buffer);
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

/// Advances both ends until `over`; both ranks are this thread.
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
