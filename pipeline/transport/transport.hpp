// Moves tensors between pipeline ranks: operations are posted in batches and waited for, each with a deadline; a header
// goes before the data.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/action.hpp"
#include "support/error.hpp"

namespace plumbline {

/// A wait lasted longer than its deadline: the message names the rank, what it waits for, from whom, and for how long.
class DeadlineError : public RunError {
 public:
  using RunError::RunError;
};

enum class Direction : std::int32_t { forward = 0, backward = 1 };

/// Sent before every payload, fixed size, plain bytes. The receiver holds it against what its schedule and batch plan
/// expect.
struct MessageHeader {
  std::uint32_t magic = 0x504c4d42;  // "PLMB"
  Direction direction = Direction::forward;
  std::int32_t from_stage = 0;
  std::int32_t to_stage = 0;
  std::int64_t step = 0;
  std::int32_t microbatch = 0;
  std::int32_t dtype = 0;  ///< at::ScalarType
  std::int32_t dimensions = 0;
  std::int32_t reserved = 0;
  std::array<std::int64_t, 4> sizes{};  ///< [batch, sequence, hidden], the rest 0
  /// Counts messages of this edge (from rank, to rank, direction) from 0; set and checked by the transport.
  std::uint64_t sequence = 0;

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};
/// "F microbatch 3 of step 0, stage 1 -> 2, 2x64x128 float32"
std::string describe(const MessageHeader& header);

/// One send or receive. `payload` is what to send (contiguous; owned by the operation until it has ended), undefined
/// for a receive. A receive's buffer is allocated when it is posted. `header.dimensions` 0 in a receive: the plan does
/// not know the shape; its buffer is allocated once the header has come.
struct Operation {
  Action action;  ///< for messages: RECV_F of stage 2, microbatch 3
  int peer = 0;
  MessageHeader header;
  at::Tensor payload;
};
bool is_send(const Operation& operation);

using OperationId = std::uint64_t;

/// Payload operations and bytes moved, counted inside the transport.
struct TrafficCount {
  int peer = 0;
  Direction direction = Direction::forward;
  bool send = false;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
};

/// Where a transport can let messages go straight from and to tensors' memory by registering it with its library.
struct RegisteredBuffers {
  std::string why_not;          ///< empty: what is sent and received lies in registered memory
  std::int64_t segments = 0;    ///< pieces registered now
  std::int64_t bytes = 0;       ///< in them
  std::int64_t given_back = 0;  ///< pieces that the allocator gave back, and that were deregistered before
};

/// Two different ranks, in either order.
using RankPair = std::pair<int, int>;

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

  /// Batches posted since the start (tests count them against the plan).
  virtual std::int64_t batches_posted() const = 0;
  /// What moved since the last call, one entry per (peer, direction, side) used.
  virtual std::vector<TrafficCount> take_traffic() = 0;

  /// No value where the transport knows nothing of the kind.
  virtual std::optional<RegisteredBuffers> registered_buffers() const { return std::nullopt; }

  // Control: small host messages; all ranks call them in the same order. Deadline as above.
  /// On rank 0 one entry a rank; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  /// Rank 0's bytes, on every rank.
  virtual std::string broadcast(const std::string& bytes) = 0;
  virtual void barrier() = 0;
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

struct TransportSettings {
  std::chrono::milliseconds timeout{30000};
  /// For `connect`: ranks come to it seconds apart, and libraries take their time to start.
  std::chrono::milliseconds start_timeout{60000};
};

}  // namespace plumbline
