// SPDX-License-Identifier: BSD-3-Clause
// Payloads in GPU memory, by NCCL.
//
// The messages of a batch are one group, which starts once the previous one is on its streams: NCCL starts a group on a
// thread of its own, and meanwhile the host waits. So groups are queued in the order of the action list, on a device
// that executes one after the other too. Within a group NCCL chooses the order; its messages do not wait for each
// other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/nccl/nccl_edge.hpp"
#include "pipeline/transport/transport.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

/// Runs each call on its own thread, all at once; returns whether all returned within `limit`. Threads whose calls did
/// not are detached, so everything that the calls use must live until the process ends. The calls must not throw.
bool call_bounded(std::chrono::milliseconds limit, std::vector<std::function<void()>> calls) noexcept;

struct NcclSettings {
  at::Device device = at::kCPU;  ///< device of receive buffers; CPU only with a model of the libraries
  /// Streaming multiprocessors that one message may occupy; 0: NCCL's default. A receive occupies them from when its
  /// stream reaches it, concurrently with compute.
  int max_ctas = 0;
  /// How many received payloads may be handed on before they are there: the compute stream waits for them, not the
  /// host. 0 where the host reads what it receives, since such a read would wait inside CUDA without a deadline.
  int run_ahead = 0;
  /// Time limit for aborting communicators.
  std::chrono::milliseconds abort_limit{1000};
};

/// Before the first message all ranks must call `connect` with all pairs that exchange messages. Tensors belong to the
/// compute stream of the calling thread: a send transfers what the work queued there when its group is launched
/// computes, an ended receive may be used there, and its buffer freed while that use is queued.
class NcclPayloads {
 public:
  /// The rank's device must be set. The libraries must outlive this object.
  NcclPayloads(GpuApi gpu, int rank, NcclSettings settings);
  /// Aborts what is in progress.
  ~NcclPayloads() { abort(); }
  NcclPayloads(const NcclPayloads&) = delete;
  NcclPayloads& operator=(const NcclPayloads&) = delete;

  at::Device device() const { return settings_.device; }
  int run_ahead() const { return settings_.run_ahead; }

  /// Rank 0 creates and broadcasts the ids; then the ranks of each connection, in list order and forward before
  /// backward, create their communicator and send each other a tensor, since NCCL opens its connections at first use.
  /// Blocks.
  void connect(const std::vector<ConnectedRanks>& connections, Control& control, const Control::Wait& wait);

  /// Adds a transfer to the batch, in the order of the action list.
  void add(int peer, Direction direction, std::shared_ptr<NcclTransfer> transfer);
  /// A buffer, made by `make`, whose receive need not wait for the compute queued before it (after_compute).
  at::Tensor allocate(int peer, Direction direction, const std::function<at::Tensor()>& make);
  /// Ends the batch, passes it to NCCL and advances transfers. Throws RunError if one can no longer end.
  void progress();
  /// Whether all batches are on their streams; call `progress` until they are.
  bool started() const;

  /// Lets later compute use a receive whose `event` is recorded.
  void hand_on(const NcclTransfer& receive);

  /// Collective, after all ranks have agreed to end: nothing is in progress on any of them. Blocks.
  void close(const Control::Wait& wait);
  /// Cancels transfers without other ranks, in bounded time. No further calls are allowed.
  void abort() noexcept;

 private:
  NcclEdge& find_edge(int peer, Direction direction);
  bool starting() const;
  void start_batch();
  std::vector<std::string> agree_on_ids(std::size_t count, Control& control);
  void warm_up(NcclEdge& edge, const Control::Wait& wait);

  GpuApi gpu_;
  int rank_;
  NcclSettings settings_;
  GpuEvents events_;
  std::vector<std::unique_ptr<NcclEdge>> edges_;
  std::map<std::pair<int, Direction>, NcclEdge*> by_peer_;
  std::vector<std::pair<NcclEdge*, std::shared_ptr<NcclTransfer>>> batch_;  ///< in the order of the action list
};

}  // namespace plumbline
