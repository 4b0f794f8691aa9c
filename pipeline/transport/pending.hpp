// SPDX-License-Identifier: BSD-3-Clause
// The one handle to a message in progress.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace plumbline {

/// Owns header, tensor and request of a message, together with the transport that started it: if this handle is
/// dropped, the transport keeps them until the message has ended or the transport is destroyed.
class Pending {
 public:
  /// What a transport implements.
  class Message {
   public:
    virtual ~Message() = default;
    virtual bool test() = 0;
    virtual at::Tensor wait() = 0;
  };

  explicit Pending(std::shared_ptr<Message> message) : message_(std::move(message)) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = default;
  ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// Advances all messages of the transport without blocking; returns whether this one has ended. Throws RunError if a
  /// header does not match.
  bool test() { return message().test(); }
  /// Blocks until it has ended. Returns a receive's tensor, once (its buffer, owned by MemoryOwner::transport until the
  /// caller re-tags it); undefined for a send. Throws DeadlineError when the deadline passes, naming message, peer,
  /// shape and seconds, and RunError if the header does not match (both ends, expected and got).
  at::Tensor wait() {
    at::Tensor arrived = message().wait();
    if (arrived.defined()) message_.reset();
    return arrived;
  }

 private:
  Message& message() {
    if (!message_) throw std::logic_error("a receive was waited for twice");
    return *message_;
  }

  std::shared_ptr<Message> message_;
};

}  // namespace plumbline
