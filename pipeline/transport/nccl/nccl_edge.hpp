// SPDX-License-Identifier: BSD-3-Clause
// Messages in one direction with a neighbor, or among replicas: a communicator of these ranks and its stream.
//
// Each neighbor and direction has its own, so that a message waits only for others on the same edge: on one stream a
// late neighbor would delay the other, and a ring of sends would deadlock. Replicas exchange the same messages in the
// same order.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/receive_memory.hpp"
#include "pipeline/transport/transport.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

/// A payload that NCCL transfers.
struct NcclTransfer {
  bool sends = false;
  int peer = 0;
  bool after_compute = true;        ///< it uses memory that compute queued before it uses, too
  at::Tensor tensor;                ///< whose memory is used until the event is reached
  GpuEvent event = GpuEvent::none;  ///< recorded after it once it is on its stream
  bool arrived = false;             ///< its event is reached, and the compute stream is ordered after it
};

class NcclEdge {
 public:
  struct Ends {
    int rank = 0;
    ConnectedRanks ranks;  ///< this one and its peers
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
  /// Passes a transfer to NCCL, in an open group. `computed`: recorded behind the compute that it waits for.
  void start(std::shared_ptr<NcclTransfer> transfer, GpuEvent computed);
  /// After the group, once NCCL has put it on the streams.
  void started();
  /// Whether NCCL has not put what was passed on the stream yet; `progress` asks it.
  bool starting() const { return !starting_.empty(); }
  /// Ends transfers whose event is reached. Throws RunError naming both ranks if NCCL reports a failure.
  void progress();

  // Orderly shutdown on both ranks: call begin_close, then poll `closed`. No message may be in progress.
  void begin_close();
  bool closed();
  /// Transfers the communicator to the caller, who aborts it.
  NcclCommunicator release() noexcept;

 private:
  using Transfers = std::vector<std::shared_ptr<NcclTransfer>>;

  void complete_reached();
  /// A rank's number in the communicator.
  int number_of(int rank) const;
  /// NCCL's progress; throws if the communicator failed.
  NcclProgress state();

  GpuApi gpu_;
  GpuEvents& events_;
  Ends ends_;
  OwnedStream stream_;
  ReceiveMemory memory_;
  NcclCommunicator communicator_;    ///< none once closed or released
  Transfers starting_;               ///< passed to NCCL, not on the stream yet
  std::deque<Transfers> in_flight_;  ///< on the stream, in order; those of a group have one event
};

}  // namespace plumbline
