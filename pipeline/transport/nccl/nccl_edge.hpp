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
#include "pipeline/transport/nccl/registered_memory.hpp"
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
  /// Registers all of `memory` with the communicator, and from now on what appears in it before the next group; null
  /// takes that back. Nothing is in flight. Throws RunError when NCCL refuses.
  void use(RegisteredMemory* memory);
  /// In the order of the list. A receive without a buffer holds back itself and what comes after it.
  void send(Ticket ticket, const at::Tensor& payload);
  void receive(Ticket ticket);
  void supply(Ticket ticket, const at::Tensor& buffer);
  /// What was given since the last call is one batch; each batch is one group at most.
  void end_batch() { ++batch_; }

  /// Starts what can start and notes what has ended. Throws RunError naming both ranks when NCCL reports a failure.
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

  bool start_group();
  void register_new_memory();
  /// Where NCCL holds memory registered on one end only, what it does is undefined.
  void check_registered(const Message& message) const;
  void finish_start();
  void take_reached();
  /// NCCL's progress; throws when it failed.
  NcclProgress state();

  GpuApi gpu_;
  GpuEvents& events_;
  Ends ends_;
  OwnedStream stream_;
  NcclCommunicator communicator_;  ///< none once closed or given up
  RegisteredMemory* memory_ = nullptr;
  std::uint64_t batch_ = 0;
  std::deque<Message> waiting_;
  std::optional<Group> starting_;  ///< handed to NCCL, not on the stream yet
  std::deque<Group> flying_;       ///< on the stream, in its order
  std::map<Ticket, std::size_t> ended_;
};

/// Throws std::logic_error for a type that NCCL has no name for.
NcclType nccl_type(at::ScalarType type);

}  // namespace plumbline
