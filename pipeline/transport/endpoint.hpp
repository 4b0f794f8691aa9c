// SPDX-License-Identifier: BSD-3-Clause
// One rank's end of the channels to all other ranks, in host memory: starts messages and advances them, never blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "schedule/direction.hpp"
#include "support/error.hpp"

namespace plumbline {

/// Messages of one channel from one rank to another arrive in the order sent; channels are independent.
enum class Channel : std::uint8_t { forward, backward, control, waits };
inline constexpr std::size_t channels = 4;
constexpr Channel channel_of(Direction direction) {
  return direction == Direction::forward ? Channel::forward : Channel::backward;
}

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// A message in progress. Destruction cancels it: its memory may be freed afterwards.
class TransportRequest {
 public:
  virtual ~TransportRequest() = default;
  /// Advances it; returns whether it has ended, for a send: whether the receiver has matched it. Throws RunError if the
  /// message cannot arrive or the job was aborted. Call it for the receives of a channel in their order.
  virtual bool test() = 0;
  /// Of a receive that has ended: the bytes of body that came. Unless they are as many as expected, they were dropped.
  std::size_t body_bytes() const { return body_bytes_; }

 protected:
  std::size_t body_bytes_ = 0;
};

class Endpoint {
 public:
  /// Called when the head of a message is there: returns where its body goes, empty if none follows.
  using Place = std::function<Bytes()>;

  /// All requests must be destroyed before it.
  virtual ~Endpoint() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Starts a message of a head and a body. Neither may change until the request has ended. An empty body is not
  /// sent: the head must say so.
  virtual std::unique_ptr<TransportRequest> send(int peer, Channel channel, ConstBytes head, ConstBytes body) = 0;
  /// Nothing is written before the size of what comes is known.
  virtual std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) = 0;
  /// Blocks until something may have happened or `deadline` has passed. May throw as TransportRequest::test does.
  virtual void idle(std::chrono::steady_clock::time_point deadline) = 0;

  virtual void abort(const std::string& reason, ExitCode code) noexcept = 0;
  /// Called after all ranks have agreed to end: no message is in progress on any of them.
  virtual void close() = 0;
};

template <typename Head>
Bytes bytes_of(Head& head) {
  return std::as_writable_bytes(std::span(&head, 1));
}
template <typename Head>
ConstBytes bytes_of(const Head& head) {
  return std::as_bytes(std::span(&head, 1));
}

/// Throws RunError unless the head that came from `peer` has as many bytes as this rank expects.
void check_head(int peer, std::size_t came, std::size_t expected);

}  // namespace plumbline
