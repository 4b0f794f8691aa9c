// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/message.hpp"

#include <ATen/ops/empty.h>

#include <cstdio>

#include "schedule/action.hpp"
#include "schedule/direction.hpp"
#include "support/error.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

namespace {

std::string dtype_text(std::int32_t dtype) {
  try {
    return dtype_name(static_cast<at::ScalarType>(dtype));
  } catch (const std::logic_error&) {
    return "dtype " + std::to_string(dtype);  // a corrupt header may hold any value
  }
}

std::string sizes_text(const MessageHeader& header) {
  std::string text;
  for (std::int32_t i = 0; i < std::min<std::int32_t>(header.dimensions, 4); ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(header.sizes[static_cast<std::size_t>(i)]);
  }
  return text;
}

std::string first_difference(const MessageHeader& expected, const MessageHeader& got) {
  if (expected.magic != got.magic) return "magic number";
  if (expected.direction != got.direction) return "direction";
  if (expected.step != got.step) return "step";
  if (expected.microbatch != got.microbatch) return "microbatch";
  if (expected.from_stage != got.from_stage || expected.to_stage != got.to_stage) return "stage";
  if (expected.dtype != got.dtype) return "dtype";
  if (expected.dimensions != got.dimensions || expected.sizes != got.sizes) return "shape";
  if (expected.sequence != got.sequence) return "sequence number";
  return {};
}

}  // namespace

bool is_between_replicas(const MessageHeader& header) {
  return header.from_stage == header.to_stage;
}

bool is_boundary(const MessageHeader& header) {
  return !is_between_replicas(header) && header.microbatch != no_microbatch;
}

MessageHeader tied_gradient_header(std::int64_t step, std::int32_t last_stage, bool sum, const at::Tensor& gradient) {
  MessageHeader header;
  header.direction = sum ? Direction::forward : Direction::backward;
  header.from_stage = sum ? 0 : last_stage;
  header.to_stage = sum ? last_stage : 0;
  header.step = step;
  header.microbatch = no_microbatch;
  header.dtype = static_cast<std::int32_t>(gradient.scalar_type());
  header.dimensions = 2;
  header.sizes = {gradient.size(0), gradient.size(1), 0, 0};
  return header;
}

std::string shape_text(const MessageHeader& header) {
  return sizes_text(header) + " " + dtype_text(header.dtype);
}

/// "gradient bucket 3", "summed gradient bucket 3", "values of replicas", "tied gradient", "summed tied gradient"
std::string end_of_step_text(const MessageHeader& header) {
  if (!is_between_replicas(header)) {
    return header.direction == Direction::forward ? "summed tied gradient" : "tied gradient";
  }
  if (header.microbatch < 0) return "values of replicas";
  return (header.direction == Direction::backward ? "summed gradient bucket " : "gradient bucket ") +
         std::to_string(header.microbatch);
}

std::string describe(const MessageHeader& header) {
  const std::string step = " of step " + std::to_string(header.step) + ", stage " + std::to_string(header.from_stage);
  if (is_between_replicas(header)) return end_of_step_text(header) + step + ", " + shape_text(header);
  const std::string way = step + " -> " + std::to_string(header.to_stage) + ", " + shape_text(header);
  if (!is_boundary(header)) return end_of_step_text(header) + way;
  const std::string direction = header.direction == Direction::forward    ? "F"
                                : header.direction == Direction::backward ? "B"
                                                                          : "unknown direction";
  return direction + " microbatch " + std::to_string(header.microbatch) + way;
}

std::string describe(const MessageEnd& end) {
  const std::string peer = (end.sends ? " to rank " : " from rank ") + std::to_string(end.peer);
  if (!is_boundary(end.header)) {
    return (end.sends ? "SEND " : "RECV ") + end_of_step_text(end.header) + peer + ", " + shape_text(end.header);
  }
  return std::string(end.sends ? "SEND_" : "RECV_") + (end.header.direction == Direction::forward ? "F" : "B") +
         " microbatch " + std::to_string(end.header.microbatch) + peer + ", " + shape_text(end.header);
}

std::string waiting_text(int rank, const std::string& what, std::chrono::milliseconds waited) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", static_cast<double>(waited.count()) / 1000);
  return "rank " + std::to_string(rank) + " waits for " + what + ", " + seconds.data();
}

at::IntArrayRef sizes(const MessageHeader& header) {
  return {header.sizes.data(), static_cast<std::size_t>(header.dimensions)};
}

void check_header(int rank, const MessageEnd& receive, const MessageHeader& got) {
  const MessageHeader& expected = receive.header;
  const std::string field = first_difference(expected, got);
  if (field.empty()) return;
  throw RunError("message from rank " + std::to_string(receive.peer) + " to rank " + std::to_string(rank) + ": rank " +
                 std::to_string(rank) + " expected " + describe(expected) + " (message " +
                 std::to_string(expected.sequence) + " of this edge), rank " + std::to_string(receive.peer) + " sent " +
                 describe(got) + " (message " + std::to_string(got.sequence) + "); they differ in the " + field +
                 ": the two ranks do not follow the same schedule and batch plan, or the message was altered");
}

void check_payload(int rank, const MessageEnd& send, const at::Tensor& payload) {
  const MessageHeader& header = send.header;
  const std::string what = "rank " + std::to_string(rank) + ", " + describe(send) + ": the payload ";
  if (!payload.defined()) throw RunError(what + "is missing");
  if (!payload.is_contiguous()) throw RunError(what + "is not contiguous; make it so before it is sent");
  const bool dimensions_fit = header.dimensions >= 1 && header.dimensions <= 4;
  if (!dimensions_fit || payload.sizes() != sizes(header) ||
      static_cast<std::int32_t>(payload.scalar_type()) != header.dtype) {
    MessageHeader actual;
    actual.dtype = static_cast<std::int32_t>(payload.scalar_type());
    actual.dimensions = static_cast<std::int32_t>(std::min<std::int64_t>(payload.dim(), 4));
    for (std::int32_t i = 0; i < actual.dimensions; ++i) actual.sizes[static_cast<std::size_t>(i)] = payload.size(i);
    throw RunError(what + "is " + shape_text(actual) + ", not what its header says");
  }
}

at::Tensor allocate_buffer(int rank, const MessageHeader& header, at::Device device) {
  const std::string what = "rank " + std::to_string(rank) + " cannot make a buffer for " + describe(header) + ": ";
  if (header.dimensions < 1 || header.dimensions > 4) {
    throw RunError(what + "it has " + std::to_string(header.dimensions) + " dimensions, 1 to 4 are possible");
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes(header)) {
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) throw RunError(what + "impossible sizes");
  }
  const MemoryScope scope(MemoryOwner::transport);
  try {
    return at::empty(sizes(header), at::TensorOptions(static_cast<at::ScalarType>(header.dtype)).device(device));
  } catch (const c10::Error& error) {
    throw RunError(what + error.what_without_backtrace());
  }
}

}  // namespace plumbline
