// SPDX-License-Identifier: BSD-3-Clause
// Moves tensors between pipeline ranks. Operations are posted in batches and waited for with a deadline; each payload
// is preceded by a header.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "pipeline/transport/traffic_counter.hpp"
#include "pipeline/transport/wait_callback.hpp"
#include "support/error.hpp"

namespace plumbline {

using OperationId = std::uint64_t;

class Transport {
 public:
  /// Aborts the job on all ranks unless `finish` was called. Never throws and never waits for another rank.
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Collective, before the first message: opens connections between these pairs of ranks (the same list on all ranks).
  /// Does nothing on transports without connections. Throws DeadlineError and RunError naming the two ranks.
  virtual void connect(const std::vector<RankPair>& /*pairs*/) {}

  /// Ends start-up on this rank: waits now have the time limit of a step. Sends no message.
  virtual void start_steps() = 0;
  /// Restores the start-up time limit until start_steps, for work outside a step (writing a checkpoint). Sends no
  /// message.
  virtual void leave_steps() = 0;

  /// `callback` is called with the rank that a control call or wait_for_sends() waits for, and with -1 when that wait
  /// ends; empty: no calls. Waits for one operation do not call it, since the caller knows the peer.
  virtual void set_wait_callback(WaitCallback callback) = 0;

  /// Starts all operations of a batch together, in list order per peer and direction. Does not block. Returns ids in
  /// the order of `batch`.
  virtual std::vector<OperationId> post(std::vector<Operation> batch) = 0;
  /// Advances operations without blocking; returns whether this one has completed. Throws RunError if its header does
  /// not match.
  virtual bool test(OperationId id) = 0;
  /// Blocks until the operation has completed. Returns a receive's tensor (its buffer, owned by MemoryOwner::transport
  /// until the caller re-tags it); undefined for a send. Throws DeadlineError when the deadline passes, naming
  /// operation, peer, shape and seconds, and RunError if the header does not match (both ends, expected and got).
  virtual at::Tensor wait(OperationId id) = 0;
  /// Blocks until all sends have completed. Called before a step ends.
  virtual void wait_for_sends() = 0;

  /// Traffic since the last call, one entry per (peer, direction, side).
  virtual std::vector<TrafficCount> collect_traffic() = 0;

  // Control: small host messages; all ranks make the same calls in the same order. Deadlines as above.
  /// One entry per rank on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  /// Returns rank 0's bytes on every rank.
  virtual std::string broadcast(const std::string& bytes) = 0;
  virtual void barrier() = 0;
  /// The result of `asked` is sent with this rank's control messages: with each gather to rank 0, and with rank 0's
  /// broadcasts whether any rank had a request since the previous one.
  virtual void carry_request(std::function<bool()> asked) = 0;
  /// Whether the last broadcast carried a request; the same on every rank.
  virtual bool request_carried() const = 0;
  /// Transfers a contiguous tensor between two ranks outside the schedule (tied weights); same shape and dtype on both
  /// ends. Not counted in the traffic.
  virtual void send_tied(int peer, const at::Tensor& tensor) = 0;
  virtual void receive_tied(int peer, at::Tensor& tensor) = 0;
  /// Ends the job on all ranks and prints the reason on stderr. Does not throw. threads: the other ranks' waits throw a
  /// RunError that names this rank and `reason`; mpi: MPI_Abort, which does not return. Call it where an exception is
  /// caught, before the transport is destroyed.
  virtual void abort(const std::string& reason, ExitCode code = ExitCode::does_not_hold) noexcept = 0;
  /// Orderly end: all ranks call it after their last operation and wait for each other within the deadline. No further
  /// calls are allowed. Throws RunError if an operation is still pending.
  virtual void finish() = 0;
};

}  // namespace plumbline
