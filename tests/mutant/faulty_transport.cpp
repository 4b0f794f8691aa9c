// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/faulty_transport.hpp"

#include <ATen/Tensor.h>

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "pipeline/transport/operation.hpp"
#include "schedule/direction.hpp"
#include "schedule/message.hpp"
#include "support/error.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::mutant {
namespace {

bool sends_forward(const Operation& operation) {
  return operation.action.type == ActionType::send_forward;
}

/// C9, C10, C10z: one activation changed as it leaves.
class ChangedPayload : public ForwardingTransport {
 public:
  ChangedPayload(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {}

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    const MemoryScope scope(MemoryOwner::transport);
    for (Operation& operation : batch) {
      if (!sends_forward(operation) || !fault_.strikes(operation.header.step, operation.header.microbatch)) continue;
      change(operation);
    }
    return inner_.post(std::move(batch));
  }

 private:
  void change(Operation& operation) const {
    at::Tensor& payload = operation.payload;
    const std::int64_t length = payload.size(1);
    if (fault_.id == "C9") {
      payload = payload.to(at::kBFloat16).to(at::kFloat);
    } else if (fault_.id == "C10") {
      payload = payload.narrow(1, 0, length - 1).contiguous();
      operation.header.sizes[1] = length - 1;
    } else {
      payload = payload.clone();
      payload.narrow(1, length - 1, 1).zero_();
    }
  }
  Fault fault_;
};

/// C1: a receive takes its shape from the send posted with it to the same peer, as an engine does that keeps one shape
/// a peer.
class CrossedShapes : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    for (Operation& operation : batch) {
      if (is_send(operation.action.type)) {
        last_sent_[operation.peer] = operation.header.sizes;
      } else if (operation.header.direction == Direction::backward && last_sent_.contains(operation.peer)) {
        operation.header.sizes = last_sent_[operation.peer];
      }
    }
    return inner_.post(std::move(batch));
  }

 private:
  std::map<int, std::array<std::int64_t, 4>> last_sent_;
};

/// C2: every receive of an edge is as large as its first.
class FirstSize : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    for (Operation& operation : batch) {
      if (is_send(operation.action.type)) continue;
      const std::pair edge(operation.peer, operation.header.direction);
      operation.header.sizes = first_.try_emplace(edge, operation.header.sizes).first->second;
    }
    return inner_.post(std::move(batch));
  }

 private:
  std::map<std::pair<int, Direction>, std::array<std::int64_t, 4>> first_;
};

/// C5, C13: one activation as it arrives.
class WrongReceive : public ForwardingTransport {
 public:
  WrongReceive(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {}

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    std::optional<std::size_t> struck;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Operation& operation = batch[i];
      const bool strikes = operation.action.type == ActionType::receive_forward &&
                           fault_.strikes(operation.header.step, operation.header.microbatch);
      if (!strikes) continue;
      struck = i;
      if (fault_.id == "C13") operation.header.dtype = static_cast<std::int32_t>(at::kDouble);
    }
    std::vector<OperationId> ids = inner_.post(std::move(batch));
    if (struck && fault_.id == "C5") early_ = ids[*struck];
    return ids;
  }

  at::Tensor wait(OperationId id) override {
    at::Tensor arrived = inner_.wait(id);
    if (early_ == id) arrived.view(-1).slice(0, arrived.numel() / 2).zero_();  // this half was still on its way
    return arrived;
  }

 private:
  Fault fault_;
  std::optional<OperationId> early_;
};

/// C11, C11h: holds the activation of one microbatch back until the next one leaves, then sends the two in each other's
/// place.
class SwappedMicrobatches : public ForwardingTransport {
 public:
  SwappedMicrobatches(Fault fault, Transport& inner) : ForwardingTransport(inner), fault_(std::move(fault)) {
    if (!fault_.microbatch)
      throw InputError("--fault " + fault_.id + ": say which, as in " + fault_.id + "@microbatch=4");
  }

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    std::vector<OperationId> ids;
    for (Operation& operation : batch) {
      const bool on_step = operation.header.step == fault_.step && sends_forward(operation);
      if (on_step && operation.header.microbatch == *fault_.microbatch) {
        held_ = std::move(operation);
        ids.push_back(held_id);
      } else if (on_step && held_ && operation.header.microbatch == *fault_.microbatch + 1) {
        std::swap(held_->payload, operation.payload);
        if (fault_.id == "C11") std::swap(held_->header, operation.header);
        inner_.post({std::move(*held_)});
        held_.reset();
        ids.push_back(inner_.post({std::move(operation)}).front());
      } else {
        ids.push_back(inner_.post({std::move(operation)}).front());
      }
    }
    return ids;
  }

  /// The held operation ends with the others, when the step reaps its sends.
  bool test(OperationId id) override { return id == held_id ? !held_ : inner_.test(id); }

 private:
  static constexpr OperationId held_id = ~OperationId{0};
  Fault fault_;
  std::optional<Operation> held_;
};

/// N3: nothing wrong, only slow: each post waits up to 3 ms, and the rank starts late.
class SlowWire : public ForwardingTransport {
 public:
  SlowWire(int rank, Transport& inner) : ForwardingTransport(inner), random_(static_cast<unsigned>(rank)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * rank));
  }

  std::vector<OperationId> post(std::vector<Operation> batch) override {
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 3000)(random_)));
    return inner_.post(std::move(batch));
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
