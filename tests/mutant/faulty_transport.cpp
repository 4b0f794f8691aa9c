// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/faulty_transport.hpp"

#include <ATen/Tensor.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "schedule/direction.hpp"
#include "support/error.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::mutant {
namespace {

/// C9, C10, C10z: changes one activation when it is sent.
class ChangedPayload : public ForwardingTransport {
 public:
  ChangedPayload(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {}

  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    if (header.direction == Direction::backward || !fault_.strikes(header.step, header.microbatch)) {
      return inner_.send(peer, header, std::move(payload));
    }
    const MemoryScope scope(MemoryOwner::transport);
    MessageHeader changed = header;
    const std::int64_t length = payload.size(1);
    if (fault_.id == "C9") {
      payload = payload.to(at::kBFloat16).to(at::kFloat);
    } else if (fault_.id == "C10") {
      payload = payload.narrow(1, 0, length - 1).contiguous();
      changed.sizes[1] = length - 1;
    } else {
      payload = payload.clone();
      payload.narrow(1, length - 1, 1).zero_();
    }
    return inner_.send(peer, changed, std::move(payload));
  }

 private:
  Fault fault_;
};

/// C1: a receive takes its shape from the last send to the same peer, as in an engine that keeps one shape for each
/// peer.
class CrossedShapes : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    last_sent_[peer] = header.sizes;
    return inner_.send(peer, header, std::move(payload));
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    MessageHeader changed = expected;
    if (expected.direction == Direction::backward && last_sent_.contains(peer)) changed.sizes = last_sent_[peer];
    return inner_.receive(peer, changed, std::move(into));
  }

 private:
  std::map<int, std::array<std::int64_t, 4>> last_sent_;
};

/// C2: every receive of an edge is as large as the first one.
class FirstSize : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    MessageHeader changed = expected;
    changed.sizes = first_.try_emplace({peer, expected.direction}, expected.sizes).first->second;
    return inner_.receive(peer, changed, std::move(into));
  }

 private:
  std::map<std::pair<int, Direction>, std::array<std::int64_t, 4>> first_;
};

/// C5, C13: changes one activation when it arrives.
class WrongReceive : public ForwardingTransport {
 public:
  WrongReceive(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {}

  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    if (expected.direction == Direction::backward || !fault_.strikes(expected.step, expected.microbatch)) {
      return inner_.receive(peer, expected, std::move(into));
    }
    MessageHeader changed = expected;
    if (fault_.id == "C13") changed.dtype = static_cast<std::int32_t>(at::kDouble);
    return with_wait(inner_.receive(peer, changed, std::move(into)), [early = fault_.id == "C5"](Pending& inner) {
      at::Tensor arrived = inner->wait();
      if (early) arrived.view(-1).slice(0, arrived.numel() / 2).zero_();  // as if this half had not arrived yet
      return arrived;
    });
  }

 private:
  Fault fault_;
};

/// C11, C11h: delays the activation of one microbatch until the next one is sent, then swaps the two.
class SwappedMicrobatches : public ForwardingTransport {
 public:
  SwappedMicrobatches(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {
    if (!fault_.microbatch)
      throw InputError("--fault " + fault_.id + ": say which, as in " + fault_.id + "@microbatch=4");
  }

  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    const bool on_step = header.step == fault_.step && header.direction == Direction::forward;
    if (on_step && header.microbatch == *fault_.microbatch) {
      held_ = std::make_shared<Held>();
      held_->header = header;
      held_->payload = std::move(payload);
      return held_;
    }
    if (on_step && held_ && !held_->sent && header.microbatch == *fault_.microbatch + 1) {
      std::swap(held_->payload, payload);
      MessageHeader first = held_->header, second = header;
      if (fault_.id == "C11") std::swap(first, second);
      held_->sent = true;
      inner_.send(peer, first, std::move(held_->payload));
      return inner_.send(peer, second, std::move(payload));
    }
    return inner_.send(peer, header, std::move(payload));
  }

 private:
  /// Completes with the others, when the step waits for its sends.
  struct Held : MessageInProgress {
    bool test() override { return sent; }
    at::Tensor wait() override { return {}; }
    MessageHeader header;
    at::Tensor payload;
    bool sent = false;
  };
  Fault fault_;
  std::shared_ptr<Held> held_;
};

/// N3: correct but slow. Each batch waits up to 3 ms, and the rank starts late.
class SlowWire : public ForwardingTransport {
 public:
  SlowWire(int rank, Transport& inner) : ForwardingTransport(inner), random_(static_cast<unsigned>(rank)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * rank));
  }

  void end_batch() override {
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 3000)(random_)));
    inner_.end_batch();
  }

 private:
  std::minstd_rand random_;
};

}  // namespace

std::unique_ptr<Transport> make_faulty_transport(const Fault& fault, int rank, Transport& inner) {
  if (fault.id == "C1") return std::make_unique<CrossedShapes>(inner);
  if (fault.id == "C2") return std::make_unique<FirstSize>(inner);
  if (fault.id == "C5" || fault.id == "C13") return std::make_unique<WrongReceive>(fault, inner);
  if (fault.id == "C11" || fault.id == "C11h") return std::make_unique<SwappedMicrobatches>(fault, inner);
  if (fault.id == "N3") return std::make_unique<SlowWire>(rank, inner);
  return std::make_unique<ChangedPayload>(fault, inner);
}

}  // namespace plumbline::mutant
