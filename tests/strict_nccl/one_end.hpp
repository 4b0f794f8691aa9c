// SPDX-License-Identifier: BSD-3-Clause
// One rank's end of an edge, below the transport. The buffers belong to the test, and one thread may run both ranks.
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>

#include "pipeline/transport/nccl/nccl_edge.hpp"
#include "pipeline/transport/nccl/receive_memory.hpp"
#include "schedule/direction.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {

using Transfer = std::shared_ptr<NcclTransfer>;

inline Transfer sending(const at::Tensor& payload) {
  return std::make_shared<NcclTransfer>(NcclTransfer{.sends = true, .tensor = payload});
}
inline Transfer receiving(const at::Tensor& buffer) {
  return std::make_shared<NcclTransfer>(NcclTransfer{.tensor = buffer});
}

class OneEnd {
 public:
  OneEnd(int rank, GpuApi gpu)
      : gpu_(gpu), events_(gpu.cuda), rank_(rank), edge_(gpu, events_, {rank, {0, 1}, Direction::forward}, "id", {}) {}

  NcclEdge& edge() { return edge_; }
  /// The next group.
  void add(const std::vector<Transfer>& group) { to_start_.push_back(group); }
  /// A group of one message.
  Transfer send(const at::Tensor& payload) { return add_one(sending(payload)); }
  Transfer receive(const at::Tensor& buffer) { return add_one(receiving(buffer)); }
  void progress() {
    edge_.progress();
    while (!to_start_.empty() && edge_.connected() && !edge_.starting()) {
      const GpuEvent computed = events_.record(gpu_.cuda.compute_stream());
      gpu_.nccl.group_start();
      for (const Transfer& each : to_start_.front()) {
        each->peer = 1 - rank_;
        edge_.start(each, computed);
      }
      if (gpu_.nccl.group_end() == NcclProgress::done) edge_.started();
      events_.recycle(computed);
      to_start_.pop_front();
    }
  }

 private:
  Transfer add_one(Transfer transfer) {
    add({transfer});
    return transfer;
  }

  GpuApi gpu_;
  GpuEvents events_;
  int rank_;
  NcclEdge edge_;
  std::deque<std::vector<Transfer>> to_start_;
};

/// Advances both ends until `over`, since this thread runs both ranks.
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
