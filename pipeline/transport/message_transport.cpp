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

/// Who has waited for so long, or for this part of its time limit, says so to the others.
constexpr std::chrono::steady_clock::duration untold = std::chrono::milliseconds(2000);
constexpr int untold_part = 4;
/// A rank that waits looks so often, so that it knows for how long it has run meanwhile.
constexpr std::chrono::steady_clock::duration between_looks = std::chrono::milliseconds(200);
/// The most that the time between two looks counts towards a deadline: where it was more, this process was stopped, and
/// in one process of threads the rank that is waited for was, too.
constexpr std::chrono::steady_clock::duration longest_between_looks = std::chrono::milliseconds(1000);

Channel header_channel(Direction direction) {
  return direction == Direction::forward ? Channel::forward_header : Channel::backward_header;
}

// The side is part of the id, so that an ended send and a receive taken twice can be told apart without a list of the
// past.
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
  show_waits({});
}

MessageTransport::~MessageTransport() {
  if (finished_) return;
  // Nobody may wait for this rank any longer. What carries messages goes first: it points into the operations' memory.
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

void MessageTransport::show_waits(WaitsFor shown) {
  shown_ = [this, shown = std::move(shown)](int peer) {
    awaited_ = peer;
    if (shown) shown(peer);
  };
  control_.show_waits(shown_);
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
  Open& open = open_[id];
  open.operation = std::move(operation);
  const Direction direction = direction_of(open.operation.action.type);
  const int peer = open.operation.peer;
  open.operation.header.sequence = sequence(open.operation)++;
  open.header = link_->send(peer, header_channel(direction), &open.operation.header, sizeof(MessageHeader));
  open.payload = payloads_->send(peer, direction, open.operation.payload);
  return id;
}

OperationId MessageTransport::start_receive(Operation operation) {
  const OperationId id = make_id(posted_++, false);
  Open& open = open_[id];
  open.operation = std::move(operation);
  const Direction direction = direction_of(open.operation.action.type);
  const int peer = open.operation.peer;
  MessageHeader& header = open.operation.header;
  header.sequence = sequence(open.operation)++;
  open.operation.payload = header.dimensions == 0 ? at::Tensor() : allocate_buffer(rank(), header, payloads_->device());
  open.header = link_->receive(peer, header_channel(direction), &open.got, sizeof(MessageHeader));
  open.payload = payloads_->receive(peer, direction);
  if (open.operation.payload.defined() && payloads_->respects_capacity()) supply(open);
  return id;
}

void MessageTransport::supply(Open& open) {
  payloads_->supply(open.payload, open.operation.payload);
  open.buffer_supplied = true;
}

void MessageTransport::advance_headers() {
  for (auto& [id, open] : open_) {
    if (!open.header || !link_->test(*open.header)) continue;
    open.header.reset();
    Operation& operation = open.operation;
    if (is_send(operation.action.type)) continue;
    check_header(rank(), operation, open.got);
    open.header_checked = true;
    if (!operation.payload.defined()) {
      operation.payload = allocate_buffer(rank(), open.got, payloads_->device());
      operation.header = open.got;
    }
    if (!open.buffer_supplied) supply(open);
  }
}

void MessageTransport::advance_payload(Open& open) {
  Operation& operation = open.operation;
  // A receive's data is not looked at before its header agrees.
  if (!open.payload_moved && (is_send(operation.action.type) || open.header_checked)) {
    const std::optional<std::size_t> bytes = payloads_->test(open.payload);
    if (bytes) {
      open.payload_moved = true;
      if (*bytes != operation.payload.nbytes()) {
        throw RunError("rank " + std::to_string(rank()) + ", " + describe(operation) + ": " + std::to_string(*bytes) +
                       " bytes came in place of " + std::to_string(operation.payload.nbytes()));
      }
      traffic_.add(operation.peer, direction_of(operation.action.type), is_send(operation.action.type),
                   static_cast<std::int64_t>(*bytes));
    }
  }
  open.ended = open.payload_moved && !open.header;
}

void MessageTransport::progress() {
  advance_headers();
  try {
    payloads_->progress();
  } catch (const RunError&) {
    advance_headers();  // a header that disagrees says better why the payload cannot arrive
    throw;
  }
  for (auto entry = open_.begin(); entry != open_.end();) {
    Open& open = entry->second;
    if (!open.ended) advance_payload(open);
    const bool drop = open.ended && is_send(open.operation.action.type);
    entry = drop ? open_.erase(entry) : std::next(entry);
  }
}

bool MessageTransport::has_ended(OperationId id) {
  const auto entry = open_.find(id);
  if (entry != open_.end()) return entry->second.ended;
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
  int told = -1;
  for (auto last_look = Clock::now();;) {
    // Read before looking: a rank that was stopped looks once more before it blames another.
    const auto now = Clock::now();
    waited += std::min<Clock::duration>(now - last_look, longest_between_looks);
    last_look = now;
    progress();
    if (ended()) {
      if (told >= 0) notes_->tell(-1, "");
      return;
    }
    if (notes_ && waited >= std::min<Clock::duration>(untold, timeout / untold_part)) {
      if (awaited_ != told) notes_->tell(awaited_, what());
      told = awaited_;
      notes_->look();
    }
    if (waited >= timeout) passed(what(), timeout, starting);
    const Clock::duration patience = payloads_->needs_looking_at() ? std::chrono::microseconds(100) : between_looks;
    link_->idle(now + std::min<Clock::duration>(timeout - waited, patience));
  }
}

void MessageTransport::passed(const std::string& what, std::chrono::milliseconds timeout, bool starting) {
  std::string words = waiting_text(rank(), what, timeout) + ": that is the time limit" +
                      (starting ? " for start-up" : "") + "; if the other rank is only slow, raise pipeline." +
                      (starting ? "start_timeout_ms" : "timeout_ms");
  std::vector<std::int64_t> waited_for;
  if (notes_ && awaited_ >= 0) words += notes_->behind(awaited_, waited_for);
  DeadlineError error(words);
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
    if (!has_ended(id)) awaited_ = open_.at(id).operation.peer;
    wait_until([&] { return describe(open_.at(id).operation); }, [&] { return has_ended(id); });
    awaited_ = -1;
    if (is_send_id(id)) return at::Tensor();
    const auto entry = open_.extract(id);
    return std::move(entry.mapped().operation.payload);
  });
}

void MessageTransport::reap_sends() {
  guarded([&] {
    const auto first_send = [&] {
      return std::find_if(open_.begin(), open_.end(), [](const auto& entry) { return is_send_id(entry.first); });
    };
    int told = -1;
    const auto show = [&](int peer) {
      if (peer != told) shown_(peer);
      told = peer;
    };
    const auto none_left = [&] {
      const auto send = first_send();
      show(send == open_.end() ? -1 : send->second.operation.peer);
      return send == open_.end();
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
    const PayloadChannel::Ticket ticket = payloads_->receive(peer, Direction::forward);
    payloads_->supply(ticket, tensor);
    wait_for_payload(what, ticket);
  });
}

void MessageTransport::wait_for_payload(const std::string& what, PayloadChannel::Ticket ticket) {
  payloads_->flush();
  wait_until([&] { return what; }, [&] { return payloads_->test(ticket).has_value(); });
}

void MessageTransport::abort(const std::string& reason, ExitCode code) noexcept {
  if (failure_.empty()) failure_ = reason;
  payloads_->abort();
  link_->abort(reason, code);
}

void MessageTransport::finish() {
  guarded([&] {
    progress();
    if (!open_.empty()) {
      throw RunError("rank " + std::to_string(rank()) + " ends with " + std::to_string(open_.size()) +
                     " operations open, the first is " + describe(open_.begin()->second.operation));
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
