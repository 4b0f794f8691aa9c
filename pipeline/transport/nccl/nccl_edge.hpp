// SPDX-License-Identifier: BSD-3-Clause
// Messages with one neighbour in one direction: a communicator of two ranks and the stream that its messages run on.
//
// Every edge and direction has its own, so that a message waits only for those that share its edge: on one stream a
// late neighbour would hold up the other one, and a ring of sends would wait for itself.
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
  using Ticket = PayloadChannel::Ticket;

  struct Ends {
    int rank = 0;
    int peer = 0;
    Direction direction = Direction::forward;
  };

  /// Starts to make the communicator; `connected` says when it is there. Throws GpuError.
  NcclEdge(GpuApi gpu, GpuEvents& events, Ends ends, const std::string& id, const NcclConfig& config);
  ~NcclEdge();
  NcclEdge(const NcclEdge&) = delete;
  NcclEdge& operator=(const NcclEdge&) = delete;

  /// "the NCCL communicator of ranks 0 and 1, forward"
  std::string text() const;
  const Ends& ends() const { return ends_; }

  bool connected();
  /// In the order of the list.
  void send(Ticket ticket, const at::Tensor& payload);
  void receive(Ticket ticket);
  void supply(Ticket ticket, const at::Tensor& buffer);
  /// What was given since the last call is one batch, which `launch` hands over.
  void end_batch() { ++batch_; }
  /// Hands over what is left of the oldest batch, as one group as far as its receives have buffers; whether all of it
  /// is on the stream. Called until it says so, and then for the next batch.
  bool launch();

  /// Notes what has ended. Throws RunError naming both ranks when NCCL reports a failure.
  void progress();
  /// The bytes of a message that has ended; the compute stream is then ordered after it. The ticket is spent.
  std::optional<std::size_t> take_ended(Ticket ticket);

  // The clean end, on both ranks: start_to_close, then `closed` says when. Nothing is open.
  void start_to_close();
  bool closed();
  /// The communicator, to be aborted by the caller; the edge gives it up.
  NcclCommunicator give_up() noexcept;

 private:
  struct Message {
    Ticket ticket = 0;
    bool send = false;
    at::Tensor tensor;  ///< kept until the event behind the message is reached
    std::uint64_t batch = 0;
  };
  struct Group {
    std::vector<Message> messages;
    GpuEvent event = GpuEvent::none;  ///< behind them on the stream
  };

  void start_group();
  void finish_start();
  void take_reached();
  /// NCCL's progress; throws when it failed.
  NcclProgress state();

  GpuApi gpu_;
  GpuEvents& events_;
  Ends ends_;
  OwnedStream stream_;
  NcclCommunicator communicator_;  ///< none once closed or given up
  std::uint64_t batch_ = 0;        ///< the one that is being given
  std::uint64_t launched_ = 0;     ///< batches that are on the stream, whole
  std::deque<Message> waiting_;
  std::optional<Group> starting_;  ///< handed to NCCL, not on the stream yet
  std::deque<Group> flying_;       ///< on the stream, in its order
  std::map<Ticket, std::size_t> ended_;
};

/// Throws std::logic_error for a type that NCCL has no name for.
NcclType nccl_type(at::ScalarType type);

}  // namespace plumbline
