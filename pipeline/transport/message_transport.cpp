// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/message_transport.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "pipeline/transport/message.hpp"
#include "support/error.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

/// A rank that has waited this long, or this part of its time limit, announces it to the other ranks.
constexpr std::chrono::steady_clock::duration announce_after = std::chrono::milliseconds(2000);
constexpr int announce_part = 4;
/// It announces the wait again after this part of the limit; one that does not within four times that reports nothing.
constexpr int renew_part = 8;
/// Between two calls of show_long_waits' function.
constexpr std::chrono::steady_clock::duration show_interval = std::chrono::seconds(1);
/// Polling interval of a waiting rank, by which it measures its own running time.
constexpr std::chrono::steady_clock::duration polling_interval = std::chrono::milliseconds(200);
/// Most time between two polls that counts towards a deadline. A longer gap means that this process was stopped, and
/// with ranks as threads the awaited rank was stopped too.
constexpr std::chrono::steady_clock::duration longest_polling_gap = std::chrono::milliseconds(1000);

ConstBytes payload_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}
Bytes buffer_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

/// The copy in host memory of a staged payload. Not MemoryOwner::transport: the memory model's transport bytes are
/// those of the GPU tensors.
at::Tensor host_copy(const at::Tensor& tensor) {
  const MemoryScope scope(MemoryOwner::other);
  return tensor.to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}
at::Tensor host_memory_like(const at::Tensor& tensor) {
  const MemoryScope scope(MemoryOwner::other);
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
}

}  // namespace

/// With the tensor to send, or to receive into.
struct MessageTransport::OpenMessage final : MessageInProgress, NcclTransfer {
  OpenMessage(MessageTransport& started_by, MessageEnd this_end) : transport(started_by), end(this_end) {}
  bool test() override { return transport.test(*this); }
  at::Tensor wait() override { return transport.wait(*this); }

  MessageTransport& transport;
  MessageEnd end;
  MessageHeader came;
  at::Tensor staged;                          ///< the tensor in host memory
  std::unique_ptr<TransportRequest> request;  ///< of header and host payload, until it has ended
  std::int64_t bytes = 0;                     ///< of the payload
  bool handed_on = false;                     ///< `wait` has returned the tensor, which is not there yet
  bool ended = false;
};

MessageTransport::MessageTransport(std::unique_ptr<Endpoint> endpoint, TransportSettings settings,
                                   std::optional<at::Device> staged, std::unique_ptr<NcclPayloads> nccl)
    : endpoint_(std::move(endpoint)),
      staged_(staged),
      nccl_(std::move(nccl)),
      settings_(settings),
      limit_(settings.starting ? start_limit() : step_limit()),
      control_(*endpoint_, [this](const std::string& what, const std::function<bool()>& ended) {
        wait_until([&] { return what; }, ended);
      }) {
  if (endpoint_->world_size() > 1) notes_.emplace(*endpoint_);
  set_wait_callback({});
}

MessageTransport::~MessageTransport() {
  if (finished_) return;
  // No rank may keep waiting for this one.
  abort(failure_.empty() ? "it ended without finishing" : failure_, ExitCode::does_not_hold);
  for (const Opened& each : open_) each->request.reset();  // a handle may outlive this transport
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

void MessageTransport::connect(const std::vector<ConnectedRanks>& connections) {
  guarded([&] {
    if (!nccl_) return;
    const Limit afterwards = std::exchange(limit_, start_limit());
    nccl_->connect(connections, control_, [this](const std::string& what, const std::function<bool()>& ended) {
      wait_until([&] { return what; }, ended);
    });
    limit_ = afterwards;
  });
}

void MessageTransport::set_wait_callback(WaitCallback callback) {
  wait_callback_ = [this, callback = std::move(callback)](int peer) {
    awaited_ = peer;
    if (callback) callback(peer);
  };
  control_.set_wait_callback(wait_callback_);
}

at::Device MessageTransport::device() const {
  return nccl_ ? nccl_->device() : staged_.value_or(at::kCPU);
}

MessageTransport::Opened MessageTransport::open(MessageEnd end, at::Tensor tensor) {
  if (end.peer < 0 || end.peer >= size() || end.peer == rank()) {
    throw std::logic_error("a message to or from rank " + std::to_string(end.peer) + " cannot be posted by rank " +
                           std::to_string(rank()) + " of " + std::to_string(size()));
  }
  const Direction direction = end.header.direction;
  const bool allocates = !end.sends && !tensor.defined();
  if (allocates) {
    const auto make = [&] { return allocate_buffer(rank(), end.header, device()); };
    tensor = nccl_ ? nccl_->allocate(end.peer, direction, make) : make();
  } else {
    check_payload(rank(), end, tensor);
  }
  end.header.sequence = sequences_[{end.peer, direction, end.sends}]++;
  auto made = std::make_shared<OpenMessage>(*this, end);
  made->sends = end.sends;
  made->after_compute = !allocates;
  made->bytes = static_cast<std::int64_t>(tensor.nbytes());
  made->tensor = std::move(tensor);
  if (nccl_) nccl_->add(end.peer, direction, made);
  return open_.emplace_back(std::move(made));
}

bool MessageTransport::announces(const MessageHeader& header) {
  if (!nccl_ || !is_between_replicas(header)) return true;
  if (!first_step_) first_step_ = header.step;
  return header.step == *first_step_;
}

Pending MessageTransport::send(int peer, const MessageHeader& header, at::Tensor payload) {
  return guarded([&] {
    const Opened message = open({true, peer, header}, std::move(payload));
    if (staged_) message->staged = host_copy(message->tensor);
    const ConstBytes body = nccl_ ? ConstBytes() : payload_of(staged_ ? message->staged : message->tensor);
    const MessageHeader& head = message->end.header;
    if (announces(head)) {
      message->request = endpoint_->send(peer, channel_of(head.direction), bytes_of(head), body);
    }
    return message;
  });
}

Pending MessageTransport::receive(int peer, const MessageHeader& expected, at::Tensor into) {
  return guarded([&] {
    const Opened message = open({false, peer, expected}, std::move(into));
    if (announces(expected)) {
      message->request = endpoint_->receive(peer, channel_of(expected.direction), bytes_of(message->came),
                                            [this, &received = *message] { return place(received); });
    }
    return message;
  });
}

Bytes MessageTransport::place(OpenMessage& receive) {
  check_header(rank(), receive.end, receive.came);
  if (nccl_) return {};
  if (staged_) receive.staged = host_memory_like(receive.tensor);
  return buffer_of(staged_ ? receive.staged : receive.tensor);
}

void MessageTransport::end_batch() {
  guarded([&] {
    if (!nccl_) return;
    nccl_->progress();
    wait_until([&] { return "NCCL to start " + describe(open_.back()->end); }, [&] { return nccl_->started(); });
  });
}

void MessageTransport::progress() {
  const auto advance_requests = [&] {
    for (const Opened& each : open_) {
      if (!each->request || !each->request->test()) continue;
      const std::size_t bytes = each->request->body_bytes();
      each->request.reset();
      if (each->sends || nccl_ || static_cast<std::int64_t>(bytes) == each->bytes) continue;
      throw RunError("rank " + std::to_string(rank()) + ", " + describe(each->end) + ": " + std::to_string(bytes) +
                     " bytes arrived instead of " + std::to_string(each->bytes));
    }
  };
  advance_requests();
  try {
    if (nccl_) nccl_->progress();
  } catch (const RunError&) {
    advance_requests();  // first: a mismatched header explains better why a payload cannot arrive
    throw;
  }
  std::erase_if(open_, [&](const Opened& each) {
    if (each->request || (nccl_ && !each->arrived)) return false;
    if (const MessageHeader& header = each->end.header; is_boundary(header)) {
      traffic_.add(each->end.peer, header.direction, each->sends, each->bytes);
    }
    if (each->sends) {
      each->tensor.reset();
    } else if (each->staged.defined()) {
      each->tensor.copy_(each->staged);
    }
    each->staged.reset();
    return each->ended = true;
  });
}

void MessageTransport::wait_until(const std::function<std::string()>& what, const std::function<bool()>& ended) {
  using Clock = std::chrono::steady_clock;
  const auto timeout = limit_.time;
  Clock::duration waited{0}, announced_at{0}, shown_at{0};
  int announced = -1;
  for (auto last_poll = settings_.now();;) {
    // Read the clock before polling: after a stop the rank polls once more before it reports another rank.
    const auto now = settings_.now();
    waited += std::min<Clock::duration>(now - last_poll, longest_polling_gap);
    last_poll = now;
    progress();
    if (ended()) {
      if (announced >= 0) notes_->announce(-1, "");
      return;
    }
    if (notes_ && waited >= std::min<Clock::duration>(announce_after, timeout / announce_part)) {
      if (awaited_ != announced || (awaited_ >= 0 && waited - announced_at >= timeout / renew_part)) {
        notes_->announce(awaited_, what());
        announced = awaited_;
        announced_at = waited;
      }
      notes_->poll();
      if (show_ && waited >= patience_ && waited - shown_at >= show_interval) {
        show_(waiting_text(rank(), what(), std::chrono::duration_cast<std::chrono::milliseconds>(waited)) +
              waits_behind().text);
        shown_at = waited;
      }
    }
    if (waited >= timeout) throw_deadline_error(what());
    const Clock::duration patience = nccl_ ? std::chrono::microseconds(100) : polling_interval;
    endpoint_->idle(now + std::min<Clock::duration>(timeout - waited, patience));
  }
}

MessageTransport::Behind MessageTransport::waits_behind() const {
  Behind behind;
  if (notes_ && awaited_ >= 0) {
    behind.text = notes_->describe_chain(awaited_, limit_.time * 4 / renew_part, behind.ranks);
  }
  return behind;
}

void MessageTransport::throw_deadline_error(const std::string& what) {
  Behind behind = waits_behind();
  DeadlineError error(waiting_text(rank(), what, limit_.time) + ": this exceeds the time limit" + limit_.what +
                      "; if the other rank is only slow, raise " + limit_.key + behind.text);
  error.waited_for = std::move(behind.ranks);
  throw error;
}

bool MessageTransport::test(const OpenMessage& message) {
  return guarded([&] {
    progress();
    return message.ended;
  });
}

at::Tensor MessageTransport::wait(OpenMessage& message) {
  return guarded([&] {
    if (!message.sends && !message.tensor.defined()) throw std::logic_error("a receive was waited for twice");
    const bool ahead = nccl_ && nccl_->run_ahead() > 0 && !message.sends;
    if (!message.ended) awaited_ = message.end.peer;
    wait_until([&] { return describe(message.end); },
               [&] { return message.ended || (ahead && !message.request && message.event != GpuEvent::none); });
    awaited_ = -1;
    if (!message.ended) {
      message.handed_on = true;
      nccl_->hand_on(message);
      wait_for_open(&is_handed_on, nccl_->run_ahead());
    }
    return std::move(message.tensor);
  });
}

void MessageTransport::wait_for_open(bool (*chosen)(const OpenMessage&), std::ptrdiff_t most) {
  guarded([&] {
    const auto is_chosen = [&](const Opened& each) { return chosen(*each); };
    int shown = -1;
    const auto few_left = [&] {
      const bool few = std::ranges::count_if(open_, is_chosen) <= most;
      const int peer = few ? -1 : (*std::ranges::find_if(open_, is_chosen))->end.peer;
      if (peer != shown) wait_callback_(peer);
      shown = peer;
      return few;
    };
    wait_until([&] { return describe((*std::ranges::find_if(open_, is_chosen))->end); }, few_left);
  });
}

bool MessageTransport::is_handed_on(const OpenMessage& message) {
  return message.handed_on;
}

void MessageTransport::wait_for_payloads() {
  wait_for_open(&is_handed_on, 0);
}

void MessageTransport::wait_for_sends() {
  wait_for_open([](const OpenMessage& each) { return each.sends || each.handed_on; }, 0);
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

void MessageTransport::abort(const std::string& reason, ExitCode code) noexcept {
  if (failure_.empty()) failure_ = reason;
  if (nccl_) nccl_->abort();
  endpoint_->abort(reason, code);
}

void MessageTransport::finish() {
  guarded([&] {
    progress();
    if (!open_.empty()) {
      throw RunError("rank " + std::to_string(rank()) + " ends with " + std::to_string(open_.size()) +
                     " operations open, the first is " + describe(open_.front()->end));
    }
    control_.barrier();
    if (notes_) {
      notes_->leave();
      wait_until([&] { return "the other ranks to leave"; }, [&] { return notes_->all_left(); });
    }
    if (nccl_) {
      nccl_->close([this](const std::string& what, const std::function<bool()>& ended) {
        wait_until([&] { return what; }, ended);
      });
    }
    endpoint_->close();
    finished_ = true;
  });
}

}  // namespace plumbline
