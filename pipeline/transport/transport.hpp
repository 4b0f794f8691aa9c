// SPDX-License-Identifier: BSD-3-Clause
// Moves tensors between pipeline ranks, each with a header, and small control messages. Every wait has a deadline.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/transport/message.hpp"
#include "schedule/direction.hpp"
#include "support/error.hpp"
#include "training/rank_group.hpp"

namespace plumbline {

using WaitCallback = std::function<void(int peer)>;

struct TransportSettings {
  std::chrono::milliseconds timeout{30000};  ///< within a step
  /// For `connect`, and if `starting` for all waits until Transport::enter_steps: ranks start seconds apart, load
  /// models of different sizes, and libraries take time to initialize.
  std::chrono::milliseconds start_timeout{60000};
  bool starting = false;
  std::chrono::milliseconds save_timeout{60000};  ///< between Transport::leave_steps and enter_steps
  /// The clock of all waits.
  std::chrono::steady_clock::time_point (*now)() = [] { return std::chrono::steady_clock::now(); };
};

/// Boundary tensors moved, and their bytes, counted inside the transport.
struct TrafficCount {
  int peer = 0;
  Direction direction = Direction::forward;
  bool send = false;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
};

class TrafficCounter {
 public:
  void add(int peer, Direction direction, bool send, std::int64_t bytes) {
    TrafficCount& count = counts_[{peer, direction, !send}];
    count.peer = peer;
    count.direction = direction;
    count.send = send;
    count.operations += 1;
    count.bytes += bytes;
  }

  /// Returns the counts, ordered by peer, forward before backward, sends before receives, and resets them.
  std::vector<TrafficCount> take() {
    std::vector<TrafficCount> taken;
    for (const auto& [key, count] : counts_) taken.push_back(count);
    counts_.clear();
    return taken;
  }

 private:
  std::map<std::tuple<int, Direction, bool>, TrafficCount> counts_;
};

/// Two or more ranks that exchange messages with each other.
using ConnectedRanks = std::vector<int>;

/// A message in progress. Its transport shares it, with its tensor, until it has ended or the transport is destroyed;
/// the caller may drop it.
class MessageInProgress {
 public:
  virtual ~MessageInProgress() = default;
  /// Advances all messages of the transport without blocking; returns whether this one has ended. Throws RunError if a
  /// header does not match.
  virtual bool test() = 0;
  /// Blocks until it has ended. Returns a receive's tensor, once (its buffer, owned by MemoryOwner::transport until the
  /// caller re-tags it); undefined for a send. Throws DeadlineError when the deadline passes, naming message, peer,
  /// shape and seconds, and RunError if the header does not match (both ends, expected and got).
  virtual at::Tensor wait() = 0;
};
using Pending = std::shared_ptr<MessageInProgress>;

/// A transport is also the group of all its ranks (RankGroup): gather, broadcast and the requests that they carry.
class Transport : public RankGroup {
 public:
  /// Aborts the job on all ranks unless `finish` was called. Never throws and never waits for another rank.
  ~Transport() override = default;

  int rank() const override = 0;
  int size() const override = 0;

  /// Collective, before the first message: connects these ranks (the same list on all ranks). Does nothing on
  /// transports without connections. Throws DeadlineError and RunError naming the ranks.
  virtual void connect(const std::vector<ConnectedRanks>& /*connections*/) {}

  /// Ends start-up, or a phase outside steps, on this rank: waits now have the time limit of a step. Sends no message.
  void enter_steps() override = 0;
  /// Until enter_steps waits have the time limit of a checkpoint. Sends no message.
  void leave_steps() override = 0;

  /// `callback` is called with the rank that a control call or wait_for_sends() waits for, and with -1 when that wait
  /// ends; empty: no calls. Waits for one message do not call it, since the caller knows the peer.
  virtual void set_wait_callback(WaitCallback callback) = 0;
  /// `show` is called about once a second during a wait longer than `patience`, with "waiting for rank 1, 7 s in RECV_F
  /// microbatch 3 ...; rank 1 has not reported that it waits"; empty: no calls.
  virtual void show_long_waits(std::function<void(const std::string&)> show,
                               std::chrono::milliseconds patience = std::chrono::seconds(5)) = 0;

  /// Starts to send a contiguous tensor. Does not block. Throws RunError if `payload` is not what `header` says.
  virtual Pending send(int peer, const MessageHeader& header, at::Tensor payload) = 0;
  /// Starts to receive what `expected` says, in a new tensor or `into` a given one, contiguous and of the expected
  /// shape. Messages of one peer and direction arrive in the order sent.
  virtual Pending receive(int peer, const MessageHeader& expected, at::Tensor into) = 0;
  Pending receive(int peer, const MessageHeader& expected) { return receive(peer, expected, {}); }
  /// The messages since the last call are a batch, whose messages start together, now (NCCL: as one group; blocks until
  /// NCCL has started it). Tests and waits end a batch too.
  virtual void end_batch() = 0;
  /// NCCL: `wait` may return a tensor that is not there yet, if the header is and the compute stream waits for the
  /// payload. Blocks until all such tensors are there; call it before the host reads what was computed from them.
  virtual void wait_for_payloads() {}
  /// Blocks until all sends have ended and all payloads are there. Called before a step ends.
  virtual void wait_for_sends() = 0;

  /// Traffic since the last call, one entry per (peer, direction, side).
  virtual std::vector<TrafficCount> collect_traffic() = 0;

  // Control: small host messages; all ranks make the same calls in the same order. Deadlines as above. The result of
  // `asked` travels with this rank's control messages: with each gather to rank 0, and with rank 0's broadcasts whether
  // any rank had a request since the previous one.
  std::vector<std::string> gather(const std::string& bytes) override = 0;
  std::string broadcast(const std::string& bytes) override = 0;
  void carry_request(std::function<bool()> asked) override = 0;
  bool request_carried() const override = 0;
  virtual void barrier() = 0;
  /// Ends the job on all ranks and prints the reason on stderr. Does not throw. threads: the other ranks' waits throw a
  /// RunError that names this rank and `reason`; mpi: MPI_Abort, which does not return. Call it where an exception is
  /// caught, before the transport is destroyed.
  virtual void abort(const std::string& reason, ExitCode code = ExitCode::does_not_hold) noexcept = 0;
  /// Orderly end: all ranks call it after their last message and wait for each other within the deadline. No further
  /// calls are allowed. Throws RunError if a message is still in progress.
  virtual void finish() = 0;
};

}  // namespace plumbline
