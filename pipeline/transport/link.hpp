// SPDX-License-Identifier: BSD-3-Clause
// What a message transport stands on: bytes between ranks, in order for each channel, posted and tested, never waited
// for inside.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "support/error.hpp"

namespace plumbline {

/// Messages of one channel from one rank to another arrive in the order sent; channels do not wait for each other.
enum class Channel : std::uint8_t { forward_header, backward_header, forward, backward, control, waits };
inline constexpr std::size_t channels = 6;

class Link {
 public:
  using Ticket = std::uint64_t;

  /// Leaves open messages behind; the memory they point to may be freed after.
  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Whether a message longer than the receive's capacity leaves the memory behind it alone, so that a receive may be
  /// posted before it is known what comes.
  virtual bool respects_capacity() const = 0;

  /// Starts one message. `data` stays where it is until the ticket has ended. A send ends when the receiver has matched
  /// it, not before.
  virtual Ticket send(int peer, Channel channel, const void* data, std::size_t bytes) = 0;
  virtual Ticket receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) = 0;
  /// Bytes sent by the sender when the message has ended (the ticket is then spent), nothing before. Throws RunError
  /// when the link failed or the job was aborted.
  virtual std::optional<std::size_t> test(Ticket ticket) = 0;
  /// Lets time pass until something may have happened, or until `deadline`. May throw as `test` does.
  virtual void idle(std::chrono::steady_clock::time_point deadline) = 0;

  virtual void abort(const std::string& reason, ExitCode code) noexcept = 0;
  /// After all ranks have agreed to end: nothing is open on any of them.
  virtual void close() = 0;
};

}  // namespace plumbline
