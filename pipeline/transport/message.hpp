// SPDX-License-Identifier: BSD-3-Clause
// Headers and operations as text, and the comparison of what came with what the schedule and the batch plan say.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <string>

#include "pipeline/transport/message_header.hpp"
#include "pipeline/transport/operation.hpp"

namespace plumbline {

/// "64x128x512 float32", "unknown shape, float32".
std::string shape_text(const MessageHeader& header);
/// "SEND_F microbatch 3 to rank 2, 64x128x512 float32"
std::string describe(const Operation& operation);
/// "rank 2 waits for RECV_F microbatch 3 from rank 1, 64x128x512 float32, 30.0 s"
std::string waiting_text(int rank, const std::string& what, std::chrono::milliseconds waited);

/// Sizes of a header that knows its shape.
at::IntArrayRef sizes(const MessageHeader& header);

/// Holds `got` against a receive's header (its shape only where the receive knows one). Throws RunError naming both
/// ranks, expected, got and the first field that differs.
void check_header(int rank, const Operation& receive, const MessageHeader& got);

/// A send's payload must be what its header says, and contiguous. Throws RunError.
void check_payload(int rank, const Operation& send);

/// A receive's buffer under MemoryOwner::transport. Throws RunError when the header's sizes are impossible or do not
/// fit in memory.
at::Tensor allocate_buffer(int rank, const MessageHeader& header, at::Device device = at::kCPU);

}  // namespace plumbline
