// SPDX-License-Identifier: BSD-3-Clause
// Messages with one peer in one direction: a communicator of two ranks and its stream.
//
// Each peer and direction has its own, so that a message waits only for others on the same edge: on one stream a late
// peer would delay the other, and a ring of sends would deadlock.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/gpu_events.hpp"
#include "pipeline/transport/nccl/owned_stream.hpp"
#include "pipeline/transport/payload_channel.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

class NcclEdge {
 public:
  using Handle = PayloadChannel::Handle;

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
  /// In the order of the action list.
  void send(Handle handle, const at::Tensor& payload);
  void receive(Handle handle);
  void supply(Handle handle, const at::Tensor& buffer);
  /// Closes the current batch: the messages since the last call, which `launch` will start.
  void end_batch() { ++batch_; }
  /// Launches the remaining messages of the oldest batch as one group, up to the first receive without a buffer.
  /// Returns whether the whole batch is on the stream; call again until it is.
  bool launch();

  /// Collects completed messages. Throws RunError naming both ranks if NCCL reports a failure.
  void progress();
  /// The byte count of a completed message, else null; the compute stream is then ordered after it. The handle becomes
  /// invalid.
  std::optional<std::size_t> collect_completed(Handle handle);

  // Orderly shutdown on both ranks: call begin_close, then poll `closed`. No message may be in progress.
  void begin_close();
  bool closed();
  /// Transfers the communicator to the caller, who aborts it.
  NcclCommunicator release() noexcept;

 private:
  struct Message {
    Handle handle = 0;
    bool send = false;
    at::Tensor tensor;  ///< kept until the group's event is reached
    std::uint64_t batch = 0;
  };
  struct Group {
    std::vector<Message> messages;
    GpuEvent event = GpuEvent::none;  ///< recorded after the messages
  };

  void start_group();
  void finish_start();
  void complete_reached();
  /// NCCL's progress; throws if the communicator failed.
  NcclProgress state();

  GpuApi gpu_;
  GpuEvents& events_;
  Ends ends_;
  OwnedStream stream_;
  NcclCommunicator communicator_;  ///< none once closed or released
  std::uint64_t batch_ = 0;        ///< the batch being collected
  std::uint64_t launched_ = 0;     ///< batches that are completely on the stream
  std::deque<Message> waiting_;
  std::optional<Group> starting_;  ///< passed to NCCL, not on the stream yet
  std::deque<Group> in_flight_;    ///< on the stream, in order
  std::map<Handle, std::size_t> ended_;
};

/// Throws std::logic_error for a type that NCCL does not have.
NcclType nccl_type(at::ScalarType type);

}  // namespace plumbline
