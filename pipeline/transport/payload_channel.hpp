// SPDX-License-Identifier: BSD-3-Clause
// Transfers payloads: over the link that carries the headers, or by NCCL between GPUs.
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

/// Payloads between two ranks in one direction arrive in the order given on both sides. Only `connect` and `close`
/// block.
class PayloadChannel {
 public:
  using Handle = std::uint64_t;

  /// May be destroyed with payloads in progress; their tensors may be freed afterwards.
  virtual ~PayloadChannel() = default;

  /// Device of receive buffers.
  virtual at::Device device() const { return at::kCPU; }
  /// Whether a payload longer than its buffer is truncated without writing beyond it, so that a buffer may be supplied
  /// before the payload's size is known.
  virtual bool respects_capacity() const = 0;
  /// Whether tied tensors use this channel instead of control messages.
  virtual bool carries_tied_tensors() const { return false; }

  /// Whether progress can only be detected by polling, so that a waiting rank must not sleep until the link wakes it.
  virtual bool needs_polling() const { return false; }

  /// Collective; see Transport::connect. `wait` has the start-up deadline.
  virtual void connect(const std::vector<RankPair>& /*pairs*/, Control& /*control*/, const Control::Wait& /*wait*/) {}

  /// `payload` must not change until the handle has completed.
  virtual Handle send(int peer, Direction direction, const at::Tensor& payload) = 0;
  /// Reserves the place of one receive, which starts once its buffer is supplied.
  virtual Handle receive(int peer, Direction direction) = 0;
  virtual void supply(Handle receive, const at::Tensor& buffer) = 0;
  /// Ends a batch: messages since the last call may start together.
  virtual void flush() {}

  /// Advances messages. Throws RunError if a payload can no longer arrive.
  virtual void progress() {}
  /// The number of bytes sent if the payload has moved and its tensor may be used (the handle is then invalid), else
  /// null.
  virtual std::optional<std::size_t> test(Handle handle) = 0;

  /// Collective, after all ranks have agreed to end: nothing is in progress on any of them.
  virtual void close(const Control::Wait& /*wait*/) {}
  /// Cancels payloads in flight without other ranks, in bounded time. No further calls are allowed.
  virtual void abort() noexcept {}
};

}  // namespace plumbline
