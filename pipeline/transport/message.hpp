// SPDX-License-Identifier: BSD-3-Clause
// A message: its header, its two ends as text, checks of received headers and of payloads.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/direction.hpp"
#include "support/error.hpp"

namespace plumbline {

/// Fixed size, sent as raw bytes with every payload. The receiver compares it with its schedule and batch plan.
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
  std::array<std::int64_t, 4> sizes{};  ///< [batch, sequence, hidden] of a boundary tensor, unused entries 0
  /// Number of the message on its edge (from rank, to rank, direction), from 0; set and checked by the transport.
  std::uint64_t sequence = 0;

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};
/// "F microbatch 3 of step 0, stage 1 -> 2, 2x64x128 float32"
std::string describe(const MessageHeader& header);

/// The message names the rank, the operation and peer it waits for, and the duration.
class DeadlineError : public RunError {
 public:
  using RunError::RunError;
  /// With several hosts, the chain of waiting ranks as they announced it: whom this rank waited for, whom that rank
  /// waited for, and so on; a repeated rank ends the chain.
  std::vector<std::int64_t> waited_for;
};

/// One end of a message.
struct MessageEnd {
  bool sends = false;
  int peer = 0;
  MessageHeader header;  ///< that is sent or expected
};

/// Whether it travels between replicas of one stage (ReplicaSum).
bool is_between_replicas(const MessageHeader& header);
/// Whether it is a boundary tensor: neither of replicas nor a gradient of a tied weight (tied_gradient_header).
bool is_boundary(const MessageHeader& header);

/// The head's gradient of a tied weight, which travels from the last stage to the first, or their sum, which travels
/// back.
MessageHeader tied_gradient_header(std::int64_t step, std::int32_t last_stage, bool sum, const at::Tensor& gradient);

/// "64x128x512 float32"
std::string shape_text(const MessageHeader& header);
/// "SEND_F microbatch 3 to rank 2, 64x128x512 float32", "SEND gradient bucket 3 to rank 2, 4096 float32", "SEND tied
/// gradient to rank 0, 512x64 float32"
std::string describe(const MessageEnd& end);
/// "rank 2 waits for RECV_F microbatch 3 from rank 1, 64x128x512 float32, 30.0 s"
std::string waiting_text(int rank, const std::string& what, std::chrono::milliseconds waited);

/// Sizes of a header with a known shape.
at::IntArrayRef sizes(const MessageHeader& header);

/// Compares a received header `got` with the expected one. Throws RunError naming both ranks, expected, got and the
/// first field that differs.
void check_header(int rank, const MessageEnd& receive, const MessageHeader& got);

/// Checks that a send's payload is contiguous and matches its header. Throws RunError.
void check_payload(int rank, const MessageEnd& send, const at::Tensor& payload);

/// Allocates a receive buffer under MemoryOwner::transport. Throws RunError if the header's sizes are invalid or too
/// large for memory.
at::Tensor allocate_buffer(int rank, const MessageHeader& header, at::Device device = at::kCPU);

}  // namespace plumbline
