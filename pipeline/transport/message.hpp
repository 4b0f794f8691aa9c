// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a message as text; checks of received headers and of payloads.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <string>

#include "pipeline/transport/message_header.hpp"

namespace plumbline {

/// One end of a message.
struct MessageEnd {
  bool sends = false;
  int peer = 0;
  MessageHeader header;  ///< that is sent or expected
};

/// Whether it travels between replicas of one stage (ReplicaSum).
bool is_between_replicas(const MessageHeader& header);

/// "64x128x512 float32"
std::string shape_text(const MessageHeader& header);
/// "SEND_F microbatch 3 to rank 2, 64x128x512 float32", "SEND gradient bucket 3 to rank 2, 4096 float32"
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
