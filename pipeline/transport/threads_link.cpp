// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/threads_link.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "support/error.hpp"

namespace plumbline {
namespace {

struct Message {
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::atomic<bool> taken = false;
};

/// Messages of one channel from one rank to another that are not yet received. The lock is held while a message is
/// copied, so that the sender cannot withdraw its memory meanwhile.
struct Queue {
  std::mutex lock;
  std::deque<std::shared_ptr<Message>> messages;
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

  const int size;
  std::deque<WakeSignal> wake_signals;  // deque: the elements cannot be moved
  std::deque<Queue> queues;
  std::atomic<bool> aborted = false;
  std::mutex abort_lock;
  std::string abort_reason;  // guarded by abort_lock
};

class ThreadsLink final : public Link {
 public:
  ThreadsLink(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}

  ~ThreadsLink() override {
    for (const auto& [handle, send] : sends_) {
      const std::lock_guard guard(send.queue->lock);
      std::erase(send.queue->messages, send.message);
    }
  }

  int rank() const override { return rank_; }
  int world_size() const override { return world_->size; }
  bool respects_capacity() const override { return true; }

  Handle send(int peer, Channel channel, const void* data, std::size_t bytes) override {
    throw_if_aborted();
    const auto message = std::make_shared<Message>();
    message->data = data;
    message->bytes = bytes;
    Queue& queue = world_->queue(rank_, peer, channel);
    {
      const std::lock_guard guard(queue.lock);
      queue.messages.push_back(message);
    }
    world_->wake_signal(peer).notify();
    sends_[++last_handle_] = {message, &queue};
    return last_handle_;
  }

  Handle receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) override {
    throw_if_aborted();
    receives_[++last_handle_] = {peer, channel, data, capacity_bytes, std::nullopt};
    order_[{peer, channel}].push_back(last_handle_);
    return last_handle_;
  }

  std::optional<std::size_t> test(Handle handle) override {
    throw_if_aborted();
    if (const auto send = sends_.find(handle); send != sends_.end()) {
      if (!send->second.message->taken.load(std::memory_order_acquire)) return std::nullopt;
      const std::size_t bytes = send->second.message->bytes;
      sends_.erase(send);
      return bytes;
    }
    const auto receive = receives_.find(handle);
    if (receive == receives_.end()) throw std::logic_error("a handle was used after its message had completed");
    if (!receive->second.bytes) take(receive->second.peer, receive->second.channel);
    const std::optional<std::size_t> bytes = receive->second.bytes;
    if (bytes) receives_.erase(receive);
    return bytes;
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    WakeSignal& signal = world_->wake_signal(rank_);
    std::unique_lock guard(signal.lock);
    // An event since the last call may not have been polled yet: then this returns immediately.
    signal.changed.wait_until(guard, deadline, [&] { return signal.count != seen_; });
    seen_ = signal.count;
    guard.unlock();
    throw_if_aborted();  // reports an abort to a rank that waits for something other than a message of this link
  }

  void abort(const std::string& reason, ExitCode /*code*/) noexcept override {
    {
      const std::lock_guard guard(world_->abort_lock);
      if (world_->aborted.load()) return;  // the first reason is the cause
      world_->abort_reason = "rank " + std::to_string(rank_) + " ended the run: " + reason;
      world_->aborted.store(true);
      if (world_->size > 1) std::fprintf(stderr, "%s\n", world_->abort_reason.c_str());
    }
    for (WakeSignal& signal : world_->wake_signals) signal.notify();
  }

  void close() override {}

 private:
  struct Send {
    std::shared_ptr<Message> message;
    Queue* queue;
  };
  struct Receive {
    int peer;
    Channel channel;
    void* data;
    std::size_t capacity_bytes;
    std::optional<std::size_t> bytes;  ///< sent size, once the message has arrived
  };

  void throw_if_aborted() {
    if (!world_->aborted.load(std::memory_order_acquire)) return;
    const std::lock_guard guard(world_->abort_lock);
    throw RunError(world_->abort_reason);
  }

  /// Copies arrived messages to the receives posted on this channel, in order.
  void take(int peer, Channel channel) {
    std::deque<Handle>& waiting = order_[{peer, channel}];
    Queue& queue = world_->queue(peer, rank_, channel);
    bool any = false;
    {
      const std::lock_guard guard(queue.lock);
      while (!waiting.empty() && !queue.messages.empty()) {
        Message& message = *queue.messages.front();
        Receive& receive = receives_.at(waiting.front());
        const std::size_t bytes = std::min(message.bytes, receive.capacity_bytes);
        if (bytes > 0) std::memcpy(receive.data, message.data, bytes);
        receive.bytes = message.bytes;
        message.taken.store(true, std::memory_order_release);
        queue.messages.pop_front();
        waiting.pop_front();
        any = true;
      }
    }
    if (any) world_->wake_signal(peer).notify();
  }

  std::shared_ptr<World> world_;
  int rank_;
  Handle last_handle_ = 0;
  std::uint64_t seen_ = 0;
  std::map<Handle, Send> sends_;
  std::map<Handle, Receive> receives_;
  std::map<std::pair<int, Channel>, std::deque<Handle>> order_;
};

}  // namespace

std::vector<std::unique_ptr<Link>> make_threads_links(int world_size) {
  if (world_size < 1) throw InputError("a world of " + std::to_string(world_size) + " ranks: at least 1 is needed");
  const auto world = std::make_shared<World>(world_size);
  std::vector<std::unique_ptr<Link>> links;
  for (int rank = 0; rank < world_size; ++rank) links.push_back(std::make_unique<ThreadsLink>(world, rank));
  return links;
}

}  // namespace plumbline
