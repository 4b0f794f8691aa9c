// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/strict_world.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/strict_nccl/nccl_model.hpp"
#include "tests/strict_nccl/pool_memory.hpp"

namespace plumbline::strict {

struct StrictWorld::Shared {
  Shared(int ranks, Settings chosen)
      : settings(std::move(chosen)),
        device(ranks, settings.serial_streams, settings.virtual_time),
        nccl(device, settings),
        polls(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) compute.push_back(device.create_stream(rank, "compute").id);
  }

  /// Advances everything; searches for a cycle once nothing has advanced for a while.
  void run() {
    device.run();
    const auto now = std::chrono::steady_clock::now();
    if (now - device.last_move() < std::chrono::milliseconds(20) || now - last_search < std::chrono::milliseconds(20)) {
      return;
    }
    last_search = now;
    nccl.find_circle();
  }

  /// A host does something, so virtual time stops.
  void acts() { std::ranges::fill(polls, 0); }
  /// A host polls. When all hosts only poll, virtual time continues.
  void polls_again(int rank) {
    constexpr int often = 8;  // a host that does not wait polls less often between two calls
    if (!settings.virtual_time) return;
    ++polls[static_cast<std::size_t>(rank)];
    if (std::ranges::min(polls) < often) return;
    acts();
    device.jump();
    device.run();
  }

  /// The lock. Completed operations are destroyed after its release: their tensors may hold the last reference to
  /// memory, for which LibTorch's allocator takes a lock. So use it only in calls that are never made under that lock
  /// or one taken under it.
  class Guard {
   public:
    explicit Guard(Shared& shared) : shared_(shared), guard_(shared.lock) {}
    ~Guard() {
      const auto over = shared_.device.take_done();
      guard_.unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Shared& shared_;
    std::unique_lock<std::mutex> guard_;
  };

  mutable std::mutex lock;
  const Settings settings;
  DeviceModel device;
  NcclModel nccl;
  std::vector<int> compute;                          ///< stream indices
  std::vector<int> polls;                            ///< by rank, since its host last did something else
  std::map<int, std::shared_ptr<MemoryPool>> pools;  ///< by stream
  std::map<GpuEvent, std::shared_ptr<Mark>> events;
  std::uintptr_t last_event = 0;
  Time last_search{};
  std::int64_t groups = 0;
  std::int64_t largest_group = 0;
  bool aborts_return = false;
  std::condition_variable aborts_changed;
};

class StrictWorld::Cuda final : public CudaApi {
 public:
  Cuda(std::shared_ptr<Shared> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}

  GpuStream compute_stream() override { return handle(shared_->compute[static_cast<std::size_t>(rank_)]); }
  GpuStream create_stream() override {
    const std::lock_guard guard(shared_->lock);
    return handle(shared_->device.create_stream(rank_, "communication").id);
  }
  void destroy(GpuStream stream) noexcept override {
    const std::lock_guard guard(shared_->lock);
    shared_->device.destroy_stream(number(stream));
  }

  std::shared_ptr<void> allocate_with(GpuStream stream) override {
    const std::lock_guard guard(shared_->lock);
    auto& pool = shared_->pools[number(stream)];
    if (!pool) pool = std::make_shared<MemoryPool>();
    return MemoryPool::use(pool);
  }

  GpuEvent create_event() override {
    const std::lock_guard guard(shared_->lock);
    const auto made = static_cast<GpuEvent>(++shared_->last_event);
    shared_->events[made] = nullptr;
    return made;
  }
  void destroy(GpuEvent event) noexcept override {
    const std::lock_guard guard(shared_->lock);
    if (shared_->events.erase(event) == 0) shared_->device.note("an event was destroyed twice");
  }
  void record(GpuEvent event, GpuStream stream) override {
    const std::lock_guard guard(shared_->lock);
    if (shared_->nccl.starts_later(number(stream))) {
      shared_->device.note("rank " + std::to_string(rank_) +
                           " records an event behind a group that is not on the stream yet (ncclInProgress)");
    }
    shared_->acts();
    shared_->events.at(event) = shared_->device.record(shared_->device.stream(number(stream)));
  }
  bool reached(GpuEvent event) override {
    const Shared::Guard guard(*shared_);
    shared_->run();
    const std::shared_ptr<Mark>& mark = shared_->events.at(event);
    return !mark || shared_->device.reached(rank_, *mark);
  }
  void wait(GpuStream stream, GpuEvent event) override {
    const std::lock_guard guard(shared_->lock);
    const std::shared_ptr<Mark>& mark = shared_->events.at(event);
    shared_->acts();
    if (mark) shared_->device.wait(shared_->device.stream(number(stream)), mark);
  }

 private:
  static GpuStream handle(int stream) { return static_cast<GpuStream>(stream); }
  static int number(GpuStream stream) { return static_cast<int>(stream); }

  std::shared_ptr<Shared> shared_;
  int rank_;
};

class StrictWorld::Nccl final : public NcclApi {
 public:
  Nccl(std::shared_ptr<Shared> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}

  int version() override {
    const auto& versions = shared_->settings.versions;
    return versions[std::min(static_cast<std::size_t>(rank_), versions.size() - 1)];
  }
  std::string unique_id() override {
    const std::lock_guard guard(shared_->lock);
    if (!shared_->settings.unique_id_error.empty()) {
      throw GpuError("ncclGetUniqueId", shared_->settings.unique_id_error);
    }
    return shared_->nccl.unique_id();
  }
  NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& /*config*/) override {
    const std::lock_guard guard(shared_->lock);
    const NcclCommunicator made = shared_->nccl.init(rank_, id, ranks, rank);
    if (communicators_++ == 0) first_ = made;
    return made;
  }
  NcclState state(NcclCommunicator communicator) override {
    const std::lock_guard guard(shared_->lock);
    shared_->run();
    if (communicator == first_) shared_->polls_again(rank_);
    return shared_->nccl.state(communicator);
  }

  void group_start() override {
    if (open_) shared_->device.note("a group within a group");
    open_ = true;
    calls_.clear();
  }
  NcclProgress group_end() override {
    const std::lock_guard guard(shared_->lock);
    if (!open_) throw GpuError("ncclGroupEnd", "invalid usage: no group was started");
    open_ = false;
    shared_->acts();
    shared_->groups += 1;
    shared_->largest_group = std::max(shared_->largest_group, static_cast<std::int64_t>(calls_.size()));
    return shared_->nccl.start_group(rank_, std::exchange(calls_, {}));
  }
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    add({communicator, true, const_cast<void*>(data), count, type, peer, static_cast<int>(stream)});
  }
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    add({communicator, false, data, count, type, peer, static_cast<int>(stream)});
  }

  void finalize(NcclCommunicator communicator) override {
    const std::lock_guard guard(shared_->lock);
    shared_->nccl.finalize(communicator);
  }
  void destroy(NcclCommunicator communicator) noexcept override {
    const std::lock_guard guard(shared_->lock);
    shared_->nccl.destroy(communicator);
  }
  void abort(NcclCommunicator communicator) noexcept override {
    const std::shared_ptr<Shared> kept =
        shared_;  // a thread that waits for an abort's effect may destroy the world before the abort ends
    std::unique_lock guard(shared_->lock);
    if (open_) shared_->device.note("a communicator is aborted within a group, where it would only be noted down");
    if (shared_->settings.abort_hangs) {
      shared_->aborts_changed.wait(guard, [&] { return shared_->aborts_return; });
    }
    if (shared_->settings.aborts_meet) {
      ++aborts_;
      shared_->aborts_changed.notify_all();
      shared_->aborts_changed.wait(guard, [&] { return shared_->aborts_return || aborts_ == communicators_; });
    }
    shared_->nccl.abort(communicator);
  }

 private:
  void add(NcclModel::Call call) {
    if (!open_) throw GpuError(call.send ? "ncclSend" : "ncclRecv", "outside a group it may start after its event");
    calls_.push_back(call);
  }

  std::shared_ptr<Shared> shared_;
  int rank_;
  bool open_ = false;
  std::vector<NcclModel::Call> calls_;
  int communicators_ = 0;  ///< number created so far
  NcclCommunicator first_ = NcclCommunicator::none;
  int aborts_ = 0;
};

StrictWorld::StrictWorld(int ranks, Settings settings) : shared_(std::make_shared<Shared>(ranks, std::move(settings))) {
  for (int rank = 0; rank < ranks; ++rank) {
    cuda_.push_back(std::make_unique<Cuda>(shared_, rank));
    nccl_.push_back(std::make_unique<Nccl>(shared_, rank));
  }
}

StrictWorld::~StrictWorld() = default;

GpuApi StrictWorld::gpu(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return {*cuda_.at(index), *nccl_.at(index)};
}

void StrictWorld::launch(int rank, Kernel kernel) {
  std::unique_lock guard(shared_->lock);
  while (shared_->settings.launch_waits && !shared_->device.all_idle(rank)) {
    shared_->run();
    if (std::chrono::steady_clock::now() - shared_->device.last_move() > std::chrono::seconds(5)) {
      shared_->device.note("rank " + std::to_string(rank) + "'s launch waits for a device that makes no progress");
      break;
    }
    guard.unlock();
    std::this_thread::yield();
    guard.lock();
  }
  shared_->acts();
  Stream& stream = shared_->device.stream(shared_->compute.at(static_cast<std::size_t>(rank)));
  shared_->device.put(stream, make_kernel(rank, std::move(kernel)));
  const Time until = shared_->device.now() + shared_->settings.queue_time;
  shared_->device.sleep(rank, until);
  for (shared_->run(); !shared_->device.over(until); shared_->run()) {
    shared_->polls_again(rank);
    guard.unlock();
    std::this_thread::yield();
    guard.lock();
  }
}

bool StrictWorld::compute_idle(int rank) {
  const Shared::Guard guard(*shared_);
  shared_->run();
  shared_->polls_again(rank);
  return shared_->device.idle(rank, shared_->device.stream(shared_->compute.at(static_cast<std::size_t>(rank))));
}

Computed StrictWorld::computed(int rank) const {
  const std::lock_guard guard(shared_->lock);
  return shared_->device.computed(rank);
}

void StrictWorld::freeze(int rank) {
  const std::lock_guard guard(shared_->lock);
  shared_->device.freeze(rank);
}

void StrictWorld::thaw(int rank) {
  const std::lock_guard guard(shared_->lock);
  shared_->device.thaw(rank);
}

void StrictWorld::fail(int rank, const std::string& text) {
  const std::lock_guard guard(shared_->lock);
  shared_->nccl.fail(rank, text);
}

void StrictWorld::lose(int rank) {
  const std::lock_guard guard(shared_->lock);
  shared_->device.freeze(rank);
  shared_->nccl.fail_peers_of(rank, "remote process exited or there was a network error");
}

void StrictWorld::let_aborts_return() {
  {
    const std::lock_guard guard(shared_->lock);
    shared_->aborts_return = true;
  }
  shared_->aborts_changed.notify_all();
}

std::vector<std::string> StrictWorld::findings() const {
  const std::lock_guard guard(shared_->lock);
  return {shared_->device.findings().begin(), shared_->device.findings().end()};
}

std::vector<std::string> StrictWorld::leftovers() const {
  const std::lock_guard guard(shared_->lock);
  std::vector<std::string> left = shared_->device.leftovers();
  for (const std::string& communicator : shared_->nccl.leftovers()) left.push_back(communicator);
  if (!shared_->events.empty()) left.push_back(std::to_string(shared_->events.size()) + " events");
  return left;
}

std::int64_t StrictWorld::groups() const {
  const std::lock_guard guard(shared_->lock);
  return shared_->groups;
}

std::int64_t StrictWorld::largest_group() const {
  const std::lock_guard guard(shared_->lock);
  return shared_->largest_group;
}

}  // namespace plumbline::strict
