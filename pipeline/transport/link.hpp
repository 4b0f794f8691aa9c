// SPDX-License-Identifier: BSD-3-Clause
// The byte transport below MessageTransport: ordered channels between ranks, with non-blocking post and test.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "support/error.hpp"

namespace plumbline {

/// Messages of one channel from one rank to another arrive in the order sent; channels are independent.
enum class Channel : std::uint8_t { forward_header, backward_header, forward, backward, control, waits };
inline constexpr std::size_t channels = 6;

class Link {
 public:
  using Handle = std::uint64_t;

  /// May be destroyed with messages in progress; their memory may be freed afterwards.
  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Whether a message longer than the receive's capacity is truncated without writing beyond it, so that a receive may
  /// be posted before the message's size is known.
  virtual bool respects_capacity() const = 0;

  /// Starts one message. `data` must stay valid until the handle has completed. A send completes only when the receiver
  /// has matched it.
  virtual Handle send(int peer, Channel channel, const void* data, std::size_t bytes) = 0;
  virtual Handle receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) = 0;
  /// The number of bytes the sender sent if the message has completed (the handle is then invalid), else null. Throws
  /// RunError if the link failed or the job was aborted.
  virtual std::optional<std::size_t> test(Handle handle) = 0;
  /// Blocks until something may have happened or `deadline` has passed. May throw as `test` does.
  virtual void idle(std::chrono::steady_clock::time_point deadline) = 0;

  virtual void abort(const std::string& reason, ExitCode code) noexcept = 0;
  /// Called after all ranks have agreed to end: no message is in progress on any of them.
  virtual void close() = 0;
};

}  // namespace plumbline
