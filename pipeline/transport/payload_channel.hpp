// SPDX-License-Identifier: BSD-3-Clause
// What carries payloads: bytes over the link that carries the headers, or NCCL between GPUs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "schedule/direction.hpp"

namespace plumbline {

/// Payloads between two ranks in one direction arrive in the order they were given, on both sides. Nothing here waits
/// but `connect` and `close`.
class PayloadChannel {
 public:
  using Ticket = std::uint64_t;

  /// Leaves open payloads behind; their tensors may go after.
  virtual ~PayloadChannel() = default;

  /// Where receive buffers are made.
  virtual at::Device device() const { return at::kCPU; }
  /// Whether a payload longer than its buffer leaves the memory behind it alone, so that a buffer may be supplied
  /// before it is known what comes.
  virtual bool respects_capacity() const = 0;
  /// Whether tied tensors travel here too, in place of the control plane.
  virtual bool carries_tied_tensors() const { return false; }

  /// Whether only looking tells that something has happened, so that who waits must not sleep until the link wakes it.
  virtual bool needs_looking_at() const { return false; }

  /// Collective; see Transport::connect. `wait` has the deadline for start-up.
  virtual void connect(const std::vector<RankPair>& /*pairs*/, Control& /*control*/, const Control::Wait& /*wait*/) {}

  /// `payload` stays untouched until the ticket has ended.
  virtual Ticket send(int peer, Direction direction, const at::Tensor& payload) = 0;
  /// Takes the place of one receive; it starts once its buffer is supplied.
  virtual Ticket receive(int peer, Direction direction) = 0;
  virtual void supply(Ticket receive, const at::Tensor& buffer) = 0;
  /// A batch is complete: what was given since the last call may start together.
  virtual void flush() {}

  /// Moves things on. Throws RunError when a payload can no longer arrive.
  virtual void progress() {}
  /// The sender's bytes when the payload has moved and its tensor is free to be used (the ticket is then spent),
  /// nothing before.
  virtual std::optional<std::size_t> test(Ticket ticket) = 0;

  /// After all ranks have agreed to end: nothing is open on any of them. Collective.
  virtual void close(const Control::Wait& /*wait*/) {}
  /// Ends what is in flight without any other rank, in bounded time. Nothing may be called after.
  virtual void abort() noexcept {}
};

}  // namespace plumbline
