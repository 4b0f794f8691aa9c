// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/message_transport.hpp"

#include <algorithm>
#include <stdexcept>

#include "pipeline/transport/deadline_error.hpp"
#include "pipeline/transport/link_payloads.hpp"
#include "pipeline/transport/message.hpp"
#include "pipeline/transport/message_header.hpp"
#include "pipeline/transport/operation.hpp"
#include "pipeline/transport/rank_pairs.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "schedule/direction.hpp"
#include "schedule/message.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// A rank that has waited this long, or this part of its time limit, announces it to the other ranks.
constexpr std::chrono::steady_clock::duration announce_after = std::chrono::milliseconds(2000);
constexpr int announce_part = 4;
/// Polling interval of a waiting rank, by which it measures its own running time.
constexpr std::chrono::steady_clock::duration polling_interval = std::chrono::milliseconds(200);
/// Most time between two polls that counts towards a deadline. A longer gap means that this process was stopped, and
/// with ranks as threads the awaited rank was stopped too.
constexpr std::chrono::steady_clock::duration longest_polling_gap = std::chrono::milliseconds(1000);

Channel header_channel(Direction direction) {
  return direction == Direction::forward ? Channel::forward_header : Channel::backward_header;
}

// The id encodes the side, so that a completed send and a receive that was already returned can be distinguished
// without a history.
OperationId make_id(std::uint64_t number, bool send) {
  return 2 * number + (send ? 1 : 0);
}
bool is_send_id(OperationId id) {
  return id % 2 == 1;
}

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<Link> link, TransportSettings settings,
                                   std::unique_ptr<PayloadChannel> payloads)
    : link_(std::move(link)),
      payloads_(payloads ? std::move(payloads) : std::make_unique<LinkPayloads>(*link_)),
      settings_(settings),
      starting_wait_([this](const std::string& what, const std::function<bool()>& ended) {
        wait_until([&] { return what; }, ended, true);
      }),
      starting_(*link_, starting_wait_),
      control_(*link_, [this](const std::string& what, const std::function<bool()>& ended) {
        wait_until([&] { return what; }, ended);
      }) {
  if (settings_.several_hosts) notes_.emplace(*link_);
  set_wait_callback({});
}

MessageTransport::~MessageTransport() {
  if (finished_) return;
  // No rank may keep waiting for this one. Payload channel and link go first: they point into the operations' memory.
  abort(failure_.empty() ? "it left without a clean end" : failure_, ExitCode::does_not_hold);
  payloads_.reset();
  link_.reset();
}

template <typename Body>
auto MessageTransport::guarded(const Body& body) {
  if (finished_) throw std::logic_error("the transport was used after finish");
  if (!failure_.empty()) throw RunError(failure_);
  try {
    return body();
  } catch (const RunError& error) {
    failure_ = error.what();
    throw;
  }
}

void MessageTransport::connect(const std::vector<RankPair>& pairs) {
  guarded([&] { payloads_->connect(pairs, starting_, starting_wait_); });
}

void MessageTransport::set_wait_callback(WaitCallback callback) {
  wait_callback_ = [this, callback = std::move(callback)](int peer) {
    awaited_ = peer;
    if (callback) callback(peer);
  };
  control_.set_wait_callback(wait_callback_);
}

std::vector<OperationId> MessageTransport::post(std::vector<Operation> batch) {
  return guarded([&] {
    for (const Operation& operation : batch) {
      if (!is_communication(operation.action.type)) throw std::logic_error("only messages can be posted");
      if (operation.peer < 0 || operation.peer >= world_size() || operation.peer == rank()) {
        throw std::logic_error("a message to or from rank " + std::to_string(operation.peer) +
                               " cannot be posted by rank " + std::to_string(rank()) + " of " +
                               std::to_string(world_size()));
      }
      if (is_send(operation.action.type)) check_payload(rank(), operation);
    }
    progress();
    std::vector<OperationId> ids;
    for (Operation& operation : batch) {
      ids.push_back(is_send(operation.action.type) ? start_send(std::move(operation))
                                                   : start_receive(std::move(operation)));
    }
    payloads_->flush();
    return ids;
  });
}

std::uint64_t& MessageTransport::sequence(const Operation& operation) {
  return sequences_[{operation.peer, direction_of(operation.action.type), is_send(operation.action.type)}];
}

OperationId MessageTransport::start_send(Operation operation) {
  const OperationId id = make_id(posted_++, true);
  PendingOperation& pending = pending_[id];
  pending.operation = std::move(operation);
  const Direction direction = direction_of(pending.operation.action.type);
  const int peer = pending.operation.peer;
  pending.operation.header.sequence = sequence(pending.operation)++;
  pending.header = link_->send(peer, header_channel(direction), &pending.operation.header, sizeof(MessageHeader));
  pending.payload = payloads_->send(peer, direction, pending.operation.payload);
  return id;
}

OperationId MessageTransport::start_receive(Operation operation) {
  const OperationId id = make_id(posted_++, false);
  PendingOperation& pending = pending_[id];
  pending.operation = std::move(operation);
  const Direction direction = direction_of(pending.operation.action.type);
  const int peer = pending.operation.peer;
  MessageHeader& header = pending.operation.header;
  header.sequence = sequence(pending.operation)++;
  pending.operation.payload =
      header.dimensions == 0 ? at::Tensor() : allocate_buffer(rank(), header, payloads_->device());
  pending.header = link_->receive(peer, header_channel(direction), &pending.received, sizeof(MessageHeader));
  pending.payload = payloads_->receive(peer, direction);
  if (pending.operation.payload.defined() && payloads_->respects_capacity()) supply(pending);
  return id;
}

void MessageTransport::supply(PendingOperation& pending) {
  payloads_->supply(pending.payload, pending.operation.payload);
  pending.buffer_supplied = true;
}

void MessageTransport::advance_headers() {
  for (auto& [id, pending] : pending_) {
    if (!pending.header || !link_->test(*pending.header)) continue;
    pending.header.reset();
    Operation& operation = pending.operation;
    if (is_send(operation.action.type)) continue;
    check_header(rank(), operation, pending.received);
    pending.header_checked = true;
    if (!operation.payload.defined()) {
      operation.payload = allocate_buffer(rank(), pending.received, payloads_->device());
      operation.header = pending.received;
    }
    if (!pending.buffer_supplied) supply(pending);
  }
}

void MessageTransport::advance_payload(PendingOperation& pending) {
  Operation& operation = pending.operation;
  // A receive's data is used only after its header was checked.
  if (!pending.payload_moved && (is_send(operation.action.type) || pending.header_checked)) {
    const std::optional<std::size_t> bytes = payloads_->test(pending.payload);
    if (bytes) {
      pending.payload_moved = true;
      if (*bytes != operation.payload.nbytes()) {
        throw RunError("rank " + std::to_string(rank()) + ", " + describe(operation) + ": " + std::to_string(*bytes) +
                       " bytes came in place of " + std::to_string(operation.payload.nbytes()));
      }
      traffic_.add(operation.peer, direction_of(operation.action.type), is_send(operation.action.type),
                   static_cast<std::int64_t>(*bytes));
    }
  }
  pending.ended = pending.payload_moved && !pending.header;
}

void MessageTransport::progress() {
  advance_headers();
  try {
    payloads_->progress();
  } catch (const RunError&) {
    advance_headers();  // first: a mismatched header explains better why a payload cannot arrive
    throw;
  }
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    PendingOperation& pending = entry->second;
    if (!pending.ended) advance_payload(pending);
    const bool drop = pending.ended && is_send(pending.operation.action.type);
    entry = drop ? pending_.erase(entry) : std::next(entry);
  }
}

bool MessageTransport::has_ended(OperationId id) {
  const auto entry = pending_.find(id);
  if (entry != pending_.end()) return entry->second.ended;
  if (id / 2 >= posted_) throw std::logic_error("operation " + std::to_string(id) + " was never posted");
  if (!is_send_id(id)) throw std::logic_error("a receive was waited for twice");
  return true;
}

void MessageTransport::wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended) {
  wait_until(what, ended, settings_.starting);
}

void MessageTransport::wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended,
                                  bool starting) {
  using Clock = std::chrono::steady_clock;
  const auto timeout = starting ? settings_.start_timeout : settings_.timeout;
  Clock::duration waited{0};
  int announced = -1;
  for (auto last_poll = Clock::now();;) {
    // Read the clock before polling: after a stop the rank polls once more before it reports another rank.
    const auto now = Clock::now();
    waited += std::min<Clock::duration>(now - last_poll, longest_polling_gap);
    last_poll = now;
    progress();
    if (ended()) {
      if (announced >= 0) notes_->announce(-1, "");
      return;
    }
    if (notes_ && waited >= std::min<Clock::duration>(announce_after, timeout / announce_part)) {
      if (awaited_ != announced) notes_->announce(awaited_, what());
      announced = awaited_;
      notes_->poll();
    }
    if (waited >= timeout) throw_deadline_error(what(), timeout, starting);
    const Clock::duration patience = payloads_->needs_polling() ? std::chrono::microseconds(100) : polling_interval;
    link_->idle(now + std::min<Clock::duration>(timeout - waited, patience));
  }
}

void MessageTransport::throw_deadline_error(const std::string& what, std::chrono::milliseconds timeout, bool starting) {
  std::string text = waiting_text(rank(), what, timeout) + ": that is the time limit" +
                     (starting ? " for start-up" : "") + "; if the other rank is only slow, raise pipeline." +
                     (starting ? "start_timeout_ms" : "timeout_ms");
  std::vector<std::int64_t> waited_for;
  if (notes_ && awaited_ >= 0) text += notes_->describe_chain(awaited_, waited_for);
  DeadlineError error(text);
  error.waited_for = std::move(waited_for);
  throw error;
}

bool MessageTransport::test(OperationId id) {
  return guarded([&] {
    progress();
    return has_ended(id);
  });
}

at::Tensor MessageTransport::wait(OperationId id) {
  return guarded([&] {
    if (!has_ended(id)) awaited_ = pending_.at(id).operation.peer;
    wait_until([&] { return describe(pending_.at(id).operation); }, [&] { return has_ended(id); });
    awaited_ = -1;
    if (is_send_id(id)) return at::Tensor();
    const auto entry = pending_.extract(id);
    return std::move(entry.mapped().operation.payload);
  });
}

void MessageTransport::wait_for_sends() {
  guarded([&] {
    const auto first_send = [&] {
      return std::find_if(pending_.begin(), pending_.end(), [](const auto& entry) { return is_send_id(entry.first); });
    };
    int shown = -1;
    const auto show = [&](int peer) {
      if (peer != shown) wait_callback_(peer);
      shown = peer;
    };
    const auto none_left = [&] {
      const auto send = first_send();
      show(send == pending_.end() ? -1 : send->second.operation.peer);
      return send == pending_.end();
    };
    wait_until([&] { return describe(first_send()->second.operation); }, none_left);
  });
}

std::vector<std::string> MessageTransport::gather(const std::string& bytes) {
  return guarded([&] { return control_.gather(bytes); });
}

std::string MessageTransport::broadcast(const std::string& bytes) {
  return guarded([&] { return control_.broadcast(bytes); });
}

void MessageTransport::barrier() {
  guarded([&] { control_.barrier(); });
}

void MessageTransport::send_tied(int peer, const at::Tensor& tensor) {
  guarded([&] {
    if (!payloads_->carries_tied_tensors()) return control_.send_tied(peer, tensor);
    const std::string what = control_.announce_tied(peer, tensor);
    wait_for_payload(what, payloads_->send(peer, Direction::forward, tensor));
  });
}

void MessageTransport::receive_tied(int peer, at::Tensor& tensor) {
  guarded([&] {
    if (!payloads_->carries_tied_tensors()) return control_.receive_tied(peer, tensor);
    const std::string what = control_.expect_tied(peer, tensor);
    const PayloadChannel::Handle handle = payloads_->receive(peer, Direction::forward);
    payloads_->supply(handle, tensor);
    wait_for_payload(what, handle);
  });
}

void MessageTransport::wait_for_payload(const std::string& what, PayloadChannel::Handle handle) {
  payloads_->flush();
  wait_until([&] { return what; }, [&] { return payloads_->test(handle).has_value(); });
}

void MessageTransport::abort(const std::string& reason, ExitCode code) noexcept {
  if (failure_.empty()) failure_ = reason;
  payloads_->abort();
  link_->abort(reason, code);
}

void MessageTransport::finish() {
  guarded([&] {
    progress();
    if (!pending_.empty()) {
      throw RunError("rank " + std::to_string(rank()) + " ends with " + std::to_string(pending_.size()) +
                     " operations open, the first is " + describe(pending_.begin()->second.operation));
    }
    control_.barrier();
    if (notes_) {
      notes_->leave();
      wait_until([&] { return "the other ranks to leave"; }, [&] { return notes_->all_left(); });
    }
    payloads_->close([this](const std::string& what, const std::function<bool()>& ended) {
      wait_until([&] { return what; }, ended);
    });
    link_->close();
    finished_ = true;
  });
}

}  // namespace plumbline
