// SPDX-License-Identifier: BSD-3-Clause
// Moves tensors between pipeline ranks: operations are posted in batches and waited for, each with a deadline; a header
// goes before the data.
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
#include "pipeline/transport/waits_for.hpp"
#include "support/error.hpp"

namespace plumbline {

using OperationId = std::uint64_t;

class Transport {
 public:
  /// Without `finish` before, it ends the job for all ranks as `abort` does. Never throws, never waits for another
  /// rank.
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Collective, before the first message: opens what messages between these ranks need, the same list on all ranks.
  /// Nothing to do where no connections are made. Throws DeadlineError and RunError naming the two ranks.
  virtual void connect(const std::vector<RankPair>& /*pairs*/) {}

  /// Start-up is over on this rank: from here on waits have the step's limit. No message.
  virtual void start_steps() = 0;
  /// The start-up's limit again, for what is no step (a checkpoint is written), until start_steps. No message.
  virtual void leave_steps() = 0;

  /// `shown` is told whom a control call or reap_sends() waits for, and -1 when that wait has ended; nobody when empty.
  /// A wait for one operation tells nobody: its caller knows the peer.
  virtual void show_waits(WaitsFor shown) = 0;

  /// Starts all operations of a batch together, in list order per peer and direction, and returns at once. Ids in the
  /// order of `batch`.
  virtual std::vector<OperationId> post(std::vector<Operation> batch) = 0;
  /// Moves things on without blocking; whether the operation has ended. Throws RunError when its header disagrees.
  virtual bool test(OperationId id) = 0;
  /// Waits until it has ended. A receive's tensor (its buffer, owned by MemoryOwner::transport until the caller re-tags
  /// it); undefined for a send. Throws DeadlineError when the deadline passes, naming operation, peer, shape and
  /// seconds, and RunError when the header disagrees (both ends, expected and got).
  virtual at::Tensor wait(OperationId id) = 0;
  /// Waits for all sends. Called before a step ends.
  virtual void reap_sends() = 0;

  /// What moved since the last call, one entry per (peer, direction, side) used.
  virtual std::vector<TrafficCount> take_traffic() = 0;

  // Control: small host messages; all ranks call them in the same order. Deadline as above.
  /// On rank 0 one entry a rank; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  /// Rank 0's bytes, on every rank.
  virtual std::string broadcast(const std::string& bytes) = 0;
  virtual void barrier() = 0;
  /// What `asked` says goes with this rank's control messages: with each gather to rank 0, and with rank 0's broadcasts
  /// whether any rank was asked since the one before.
  virtual void carry_request(std::function<bool()> asked) = 0;
  /// Whether the last broadcast carried one: the same on every rank.
  virtual bool request_carried() const = 0;
  /// A contiguous tensor between two ranks outside the schedule (tied weights); same shape and dtype on both ends. Not
  /// counted in the traffic.
  virtual void send_tied(int peer, const at::Tensor& tensor) = 0;
  virtual void receive_tied(int peer, at::Tensor& tensor) = 0;
  /// Ends the job for all ranks; says why on stderr. Does not throw. threads: the other ranks' waits end with a
  /// RunError that names this rank and `reason`; mpi: MPI_Abort, which does not return. Call it where an exception is
  /// caught, before the transport is destroyed.
  virtual void abort(const std::string& reason, ExitCode code = ExitCode::does_not_hold) noexcept = 0;
  /// The clean end: all ranks call it after their last operation, and wait for each other within the deadline. Nothing
  /// may be called after. Throws RunError when an operation is still open.
  virtual void finish() = 0;
};

}  // namespace plumbline
