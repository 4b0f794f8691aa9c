// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/threads_transport.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "pipeline/transport/message_transport.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

struct Message {
  ConstBytes head;
  ConstBytes body;
  std::atomic<bool> taken = false;
};

/// Messages of one channel from one rank to another that are not yet received. The lock is held while a message is
/// copied, so that the sender cannot withdraw its memory meanwhile.
struct Queue {
  std::mutex lock;
  std::deque<Message*> messages;
};

/// Wakes a rank that is waiting in idle().
struct WakeSignal {
  std::mutex lock;
  std::condition_variable changed;
  std::uint64_t count = 0;

  void notify() {
    {
      const std::lock_guard guard(lock);
      ++count;
    }
    changed.notify_all();
  }
};

struct World {
  explicit World(int ranks)
      : size(ranks),
        wake_signals(static_cast<std::size_t>(ranks)),
        queues(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * channels) {}

  Queue& queue(int from, int to, Channel channel) {
    const auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to);
    return queues[pair * channels + static_cast<std::size_t>(channel)];
  }
  WakeSignal& wake_signal(int rank) { return wake_signals[static_cast<std::size_t>(rank)]; }
  void throw_if_aborted() {
    if (!aborted.load(std::memory_order_acquire)) return;
    const std::lock_guard guard(abort_lock);
    throw RunError(abort_reason);
  }

  const int size;
  std::deque<WakeSignal> wake_signals;  // deque: the elements cannot be moved
  std::deque<Queue> queues;
  std::atomic<bool> aborted = false;
  std::mutex abort_lock;
  std::string abort_reason;  // guarded by abort_lock
};

class ThreadsSend final : public TransportRequest {
 public:
  ThreadsSend(World& world, Queue& queue, ConstBytes head, ConstBytes body) : world_(world), queue_(queue) {
    message_.head = head;
    message_.body = body;
    const std::lock_guard guard(queue_.lock);
    queue_.messages.push_back(&message_);
  }
  ~ThreadsSend() override {
    const std::lock_guard guard(queue_.lock);
    std::erase(queue_.messages, &message_);
  }
  bool test() override {
    world_.throw_if_aborted();
    return message_.taken.load(std::memory_order_acquire);
  }

 private:
  World& world_;
  Queue& queue_;
  Message message_;
};

class ThreadsReceive final : public TransportRequest {
 public:
  /// `order`: the receives of this channel from `peer` that have not ended.
  ThreadsReceive(World& world, int peer, Queue& queue, Bytes head, Endpoint::Place place,
                 std::deque<ThreadsReceive*>& order)
      : world_(world), peer_(peer), queue_(queue), head_(head), place_(std::move(place)), order_(order) {
    order_.push_back(this);
  }
  ~ThreadsReceive() override { std::erase(order_, this); }

  bool test() override {
    world_.throw_if_aborted();
    if (ended_) return true;
    if (order_.front() != this || !take()) return false;
    world_.wake_signal(peer_).notify();
    order_.pop_front();
    return ended_ = true;
  }

 private:
  bool take() {
    const std::lock_guard guard(queue_.lock);
    if (queue_.messages.empty()) return false;
    Message& message = *queue_.messages.front();
    check_head(peer_, message.head.size(), head_.size());
    std::ranges::copy(message.head, head_.begin());
    const Bytes body = place_();
    body_bytes_ = message.body.size();
    if (body.size() == body_bytes_) std::ranges::copy(message.body, body.begin());
    message.taken.store(true, std::memory_order_release);
    queue_.messages.pop_front();
    return true;
  }

  World& world_;
  int peer_;
  Queue& queue_;
  Bytes head_;
  Endpoint::Place place_;
  std::deque<ThreadsReceive*>& order_;
  bool ended_ = false;
};

class ThreadsEndpoint final : public Endpoint {
 public:
  ThreadsEndpoint(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_->size; }

  std::unique_ptr<TransportRequest> send(int peer, Channel channel, ConstBytes head, ConstBytes body) override {
    world_->throw_if_aborted();
    auto request = std::make_unique<ThreadsSend>(*world_, world_->queue(rank_, peer, channel), head, body);
    world_->wake_signal(peer).notify();
    return request;
  }
  std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) override {
    world_->throw_if_aborted();
    return std::make_unique<ThreadsReceive>(*world_, peer, world_->queue(peer, rank_, channel), head, std::move(place),
                                            unmatched_[{peer, channel}]);
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    WakeSignal& signal = world_->wake_signal(rank_);
    std::unique_lock guard(signal.lock);
    // An event since the last call may not have been polled yet: then this returns immediately.
    signal.changed.wait_until(guard, deadline, [&] { return signal.count != seen_; });
    seen_ = signal.count;
    guard.unlock();
    world_->throw_if_aborted();  // reports an abort to a rank that waits for something other than a message
  }

  void abort(const std::string& reason, ExitCode /*code*/) noexcept override {
    {
      const std::lock_guard guard(world_->abort_lock);
      if (world_->aborted.load()) return;  // the first reason is the cause
      world_->abort_reason = "rank " + std::to_string(rank_) + " ended the run: " + reason;
      world_->aborted.store(true);
      std::fprintf(stderr, "%s\n", world_->abort_reason.c_str());
    }
    for (WakeSignal& signal : world_->wake_signals) signal.notify();
  }

  void close() override {}

 private:
  std::shared_ptr<World> world_;
  int rank_;
  std::uint64_t seen_ = 0;
  std::map<std::pair<int, Channel>, std::deque<ThreadsReceive*>> unmatched_;
};

}  // namespace

std::vector<std::unique_ptr<Endpoint>> make_threads_endpoints(int world_size) {
  if (world_size < 1) throw InputError("a world of " + std::to_string(world_size) + " ranks: at least 1 is needed");
  const auto world = std::make_shared<World>(world_size);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < world_size; ++rank) endpoints.push_back(std::make_unique<ThreadsEndpoint>(world, rank));
  return endpoints;
}

std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings,
                                                                at::Device device) {
  const auto staged = device.is_cpu() ? std::nullopt : std::optional(device);
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::unique_ptr<Endpoint>& endpoint : make_threads_endpoints(world_size)) {
    transports.push_back(std::make_unique<MessageTransport>(std::move(endpoint), settings, staged));
  }
  return transports;
}

}  // namespace plumbline
