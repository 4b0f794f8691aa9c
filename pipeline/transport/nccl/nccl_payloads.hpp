// SPDX-License-Identifier: BSD-3-Clause
// Payloads in GPU memory, by NCCL.
//
// Groups of all edges are launched in the order of the action list, each once the previous one is on its stream. A
// device may execute its streams one after the other (one hardware queue, no free multiprocessor, a profiler). In this
// order every list that is safe with blocking messages still completes; in any other order a receive could precede the
// send that it waits for.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/transport/nccl/nccl_edge.hpp"
#include "pipeline/transport/payload_channel.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

struct NcclSettings {
  at::Device device = at::kCPU;  ///< device of receive buffers; CPU only with a model of the libraries
  /// Streaming multiprocessors that one message may occupy; 0: NCCL's default. A receive occupies them from when its
  /// stream reaches it, concurrently with compute.
  int max_ctas = 0;
  /// Time limit for aborting communicators.
  std::chrono::milliseconds abort_limit{1000};
};

class NcclPayloads final : public PayloadChannel {
 public:
  /// The rank's device must be set. The libraries must outlive this object.
  NcclPayloads(GpuApi gpu, int rank, NcclSettings settings);
  ~NcclPayloads() override;

  at::Device device() const override { return settings_.device; }
  /// NCCL receives the receiver's count of elements, whatever was sent.
  bool respects_capacity() const override { return true; }
  bool carries_tied_tensors() const override { return true; }
  bool needs_polling() const override { return true; }

  /// Rank 0 creates and broadcasts the ids; then each pair, in list order and forward before backward, creates its
  /// communicator and sends a tensor both ways, since NCCL opens its connections at first use.
  void connect(const std::vector<RankPair>& pairs, Control& control, const Control::Wait& wait) override;

  Handle send(int peer, Direction direction, const at::Tensor& payload) override;
  Handle receive(int peer, Direction direction) override;
  void supply(Handle receive, const at::Tensor& buffer) override;
  void flush() override;
  void progress() override;
  std::optional<std::size_t> test(Handle handle) override;
  void close(const Control::Wait& wait) override;
  void abort() noexcept override;

 private:
  NcclEdge& find_edge(int peer, Direction direction);
  /// The edge of the next message of the list; a change of edge ends the group.
  NcclEdge& next_edge(int peer, Direction direction);
  void end_group();
  std::vector<std::string> agree_on_ids(std::size_t count, Control& control);
  void warm_up(NcclEdge& edge, const Control::Wait& wait);

  GpuApi gpu_;
  int rank_;
  NcclSettings settings_;
  GpuEvents events_;
  std::map<std::pair<int, Direction>, std::unique_ptr<NcclEdge>> edges_;
  std::map<Handle, NcclEdge*> pending_;
  NcclEdge* current_edge_ = nullptr;  ///< edge of the current group: consecutive messages on one edge form a group
  std::deque<NcclEdge*> to_launch_;   ///< one entry per group, in the order of the action list
  Handle last_handle_ = 0;
};

}  // namespace plumbline
