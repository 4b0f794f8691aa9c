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

/// Messages of one channel from one rank to another, not yet taken. The lock is held while one is copied, so that the
/// sender cannot withdraw the memory meanwhile.
struct Queue {
  std::mutex lock;
  std::deque<std::shared_ptr<Message>> messages;
};

/// Something happened that a rank may wait for.
struct Bell {
  std::mutex lock;
  std::condition_variable rung;
  std::uint64_t count = 0;

  void ring() {
    {
      const std::lock_guard guard(lock);
      ++count;
    }
    rung.notify_all();
  }
};

struct World {
  explicit World(int ranks)
      : size(ranks),
        bells(static_cast<std::size_t>(ranks)),
        queues(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * channels) {}

  Queue& queue(int from, int to, Channel channel) {
    const auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to);
    return queues[pair * channels + static_cast<std::size_t>(channel)];
  }
  Bell& bell(int rank) { return bells[static_cast<std::size_t>(rank)]; }

  const int size;
  std::deque<Bell> bells;  // deques: neither can be moved
  std::deque<Queue> queues;
  std::atomic<bool> aborted = false;
  std::mutex abort_lock;
  std::string abort_reason;  // guarded by abort_lock
};

class ThreadsLink final : public Link {
 public:
  ThreadsLink(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}

  ~ThreadsLink() override {
    for (const auto& [ticket, send] : sends_) {
      const std::lock_guard guard(send.queue->lock);
      std::erase(send.queue->messages, send.message);
    }
  }

  int rank() const override { return rank_; }
  int world_size() const override { return world_->size; }
  bool respects_capacity() const override { return true; }

  Ticket send(int peer, Channel channel, const void* data, std::size_t bytes) override {
    throw_if_aborted();
    const auto message = std::make_shared<Message>();
    message->data = data;
    message->bytes = bytes;
    Queue& queue = world_->queue(rank_, peer, channel);
    {
      const std::lock_guard guard(queue.lock);
      queue.messages.push_back(message);
    }
    world_->bell(peer).ring();
    sends_[++last_ticket_] = {message, &queue};
    return last_ticket_;
  }

  Ticket receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) override {
    throw_if_aborted();
    receives_[++last_ticket_] = {peer, channel, data, capacity_bytes, std::nullopt};
    order_[{peer, channel}].push_back(last_ticket_);
    return last_ticket_;
  }

  std::optional<std::size_t> test(Ticket ticket) override {
    throw_if_aborted();
    if (const auto send = sends_.find(ticket); send != sends_.end()) {
      if (!send->second.message->taken.load(std::memory_order_acquire)) return std::nullopt;
      const std::size_t bytes = send->second.message->bytes;
      sends_.erase(send);
      return bytes;
    }
    const auto receive = receives_.find(ticket);
    if (receive == receives_.end()) throw std::logic_error("a ticket was used after its message had ended");
    if (!receive->second.bytes) take(receive->second.peer, receive->second.channel);
    const std::optional<std::size_t> bytes = receive->second.bytes;
    if (bytes) receives_.erase(receive);
    return bytes;
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    Bell& bell = world_->bell(rank_);
    std::unique_lock guard(bell.lock);
    // What rang since the last call has perhaps not been looked at: then it returns at once.
    bell.rung.wait_until(guard, deadline, [&] { return bell.count != seen_; });
    seen_ = bell.count;
    guard.unlock();
    throw_if_aborted();  // who waits for something else than a message of this link learns it here
  }

  void abort(const std::string& reason, ExitCode /*code*/) noexcept override {
    {
      const std::lock_guard guard(world_->abort_lock);
      if (world_->aborted.load()) return;  // the first reason is the cause
      world_->abort_reason = "rank " + std::to_string(rank_) + " ended the run: " + reason;
      world_->aborted.store(true);
      if (world_->size > 1) std::fprintf(stderr, "%s\n", world_->abort_reason.c_str());
    }
    for (Bell& bell : world_->bells) bell.ring();
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
    std::optional<std::size_t> bytes;  ///< of the sender, once it is there
  };

  void throw_if_aborted() {
    if (!world_->aborted.load(std::memory_order_acquire)) return;
    const std::lock_guard guard(world_->abort_lock);
    throw RunError(world_->abort_reason);
  }

  /// Takes what has been sent for the receives posted on this channel, first to first.
  void take(int peer, Channel channel) {
    std::deque<Ticket>& waiting = order_[{peer, channel}];
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
    if (any) world_->bell(peer).ring();
  }

  std::shared_ptr<World> world_;
  int rank_;
  Ticket last_ticket_ = 0;
  std::uint64_t seen_ = 0;
  std::map<Ticket, Send> sends_;
  std::map<Ticket, Receive> receives_;
  std::map<std::pair<int, Channel>, std::deque<Ticket>> order_;
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
