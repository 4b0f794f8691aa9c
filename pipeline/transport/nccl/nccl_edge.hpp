// SPDX-License-Identifier: BSD-3-Clause
// Messages with one peer in one direction: a communicator of two ranks and its stream.
//
// Each peer and direction has its own, so that a message waits only for others on the same edge: on one stream a late
// peer would delay the other, and a ring of sends would deadlock.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/gpu_events.hpp"
#include "pipeline/transport/nccl/owned_stream.hpp"
#include "pipeline/transport/nccl/receive_memory.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

/// A payload that NCCL transfers.
struct NcclTransfer {
  bool send = false;
  bool after_compute = true;        ///< it uses memory that compute queued before it uses, too
  at::Tensor tensor;                ///< of a receive: undefined until its shape is known
  GpuEvent event = GpuEvent::none;  ///< recorded after it once it is on its stream
  bool ended = false;               ///< its event is reached, and the compute stream is ordered after it
};
/// Payloads that follow each other on one edge.
using NcclGroup = std::deque<std::shared_ptr<NcclTransfer>>;

class NcclEdge {
 public:
  struct Ends {
    int rank = 0;
    int peer = 0;
    Direction direction = Direction::forward;
  };

  /// Starts creating the communicator; poll `connected`. Throws GpuError.
  NcclEdge(GpuApi gpu, GpuEvents& events, Ends ends, const std::string& id, const NcclConfig& config);
  ~NcclEdge();
  NcclEdge(const NcclEdge&) = delete;
  NcclEdge& operator=(const NcclEdge&) = delete;

  /// "the NCCL communicator of ranks 0 and 1, forward"
  std::string text() const;
  const Ends& ends() const { return ends_; }

  bool connected();
  /// The buffer of a receive, made by `make`: the receive need not wait for compute.
  at::Tensor allocate(const std::function<at::Tensor()>& make) { return memory_.allocate(stream_.get(), make); }
  /// Launches a group as far as its first receive without a buffer, and removes from it what it launched. Returns
  /// whether the whole group is on the stream; call again until it is.
  bool launch(NcclGroup& group);
  /// Ends transfers whose event is reached. Throws RunError naming both ranks if NCCL reports a failure.
  void progress();

  // Orderly shutdown on both ranks: call begin_close, then poll `closed`. No message may be in progress.
  void begin_close();
  bool closed();
  /// Transfers the communicator to the caller, who aborts it.
  NcclCommunicator release() noexcept;

 private:
  struct Launched {
    std::vector<std::shared_ptr<NcclTransfer>> transfers;  ///< which own their tensors until the event is reached
    GpuEvent event = GpuEvent::none;                       ///< recorded after them
  };

  void start(NcclGroup& group);
  void finish_start();
  void complete_reached();
  /// NCCL's progress; throws if the communicator failed.
  NcclProgress state();

  GpuApi gpu_;
  GpuEvents& events_;
  Ends ends_;
  OwnedStream stream_;
  ReceiveMemory memory_;
  NcclCommunicator communicator_;     ///< none once closed or released
  std::optional<Launched> starting_;  ///< passed to NCCL, not on the stream yet
  std::deque<Launched> in_flight_;    ///< on the stream, in order
};

/// Throws std::logic_error for a type that NCCL does not have.
NcclType nccl_type(at::ScalarType type);

}  // namespace plumbline
