// SPDX-License-Identifier: BSD-3-Clause
// Payloads in GPU memory, by NCCL.
//
// Groups are launched in the order of the list, whatever edge they are for, each once the one before is on its stream.
// A device may work off its streams one after the other (one hardware queue, no multiprocessor left, a profiler): in
// that order every list that is runnable with blocking messages still ends; in any other a receive may stand before the
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
  at::Device device = at::kCPU;  ///< where receive buffers are made; CPU only with a model in place of the libraries
  /// Streaming multiprocessors that one message may hold; 0: NCCL's choice. A receive holds them from the moment its
  /// stream gets to it, while compute goes on beside it.
  int max_ctas = 0;
  /// How long communicators may take to abort before the job is ended without them.
  std::chrono::milliseconds abort_limit{1000};
};

class NcclPayloads final : public PayloadChannel {
 public:
  /// For rank `rank` of `world_size`; its device is set. The libraries outlive it.
  NcclPayloads(GpuApi gpu, int rank, NcclSettings settings);
  ~NcclPayloads() override;

  at::Device device() const override { return settings_.device; }
  /// NCCL takes the count of its receiver, whatever comes.
  bool respects_capacity() const override { return true; }
  bool carries_tied_tensors() const override { return true; }
  bool needs_looking_at() const override { return true; }

  /// Rank 0 makes the ids and spreads them; then each pair, forward before backward, in the order of the list, makes
  /// its communicator and sends a tensor both ways, since NCCL opens what lies below at the first use.
  void connect(const std::vector<RankPair>& pairs, Control& control, const Control::Wait& wait) override;

  Ticket send(int peer, Direction direction, const at::Tensor& payload) override;
  Ticket receive(int peer, Direction direction) override;
  void supply(Ticket receive, const at::Tensor& buffer) override;
  void flush() override;
  void progress() override;
  std::optional<std::size_t> test(Ticket ticket) override;
  void close(const Control::Wait& wait) override;
  void abort() noexcept override;

 private:
  NcclEdge& edge(int peer, Direction direction);
  /// The same, for the next message of the list.
  NcclEdge& next_edge(int peer, Direction direction);
  void end_group();
  std::vector<std::string> agree_on_ids(std::size_t count, Control& control);
  void warm_up(NcclEdge& edge, const Control::Wait& wait);

  GpuApi gpu_;
  int rank_;
  NcclSettings settings_;
  GpuEvents events_;
  std::map<std::pair<int, Direction>, std::unique_ptr<NcclEdge>> edges_;
  std::map<Ticket, NcclEdge*> open_;
  NcclEdge* given_ = nullptr;        ///< whose messages are being given now: those that follow each other are a group
  std::deque<NcclEdge*> to_launch_;  ///< one entry for each group, in the order of the list
  Ticket last_ticket_ = 0;
};

}  // namespace plumbline
