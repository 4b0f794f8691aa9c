// SPDX-License-Identifier: BSD-3-Clause
// Counts tensor bytes by owner, exactly: a counting CPU allocator and, on GPUs, a watcher of LibTorch's own, with a
// thread-local owner.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace plumbline {

enum class MemoryOwner : std::uint8_t {
  other,  ///< what no owner below is named for, the optimiser's and the clipping's own among it
  parameters,
  gradients,
  optimizer,
  activations,  ///< what the memory law speaks of
  data,         ///< ids, labels
  tables,       ///< RoPE
  transport,    ///< send and receive buffers
  recorder,     ///< digests, dumps
};
inline constexpr std::size_t memory_owners = 9;

struct MemoryCount {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};

/// Puts the counting allocator in place, on top of the one that is there. Call before the first tensor; later calls do
/// nothing.
void install_memory_meter();

/// One rank's counters. A rank is a thread: `attach` makes this thread's allocations count here. Lives until the
/// process ends (tensors may outlive the rank), so make it with `new_memory_meter`. Counted are the bytes a tensor's
/// storage asked for; the allocator's own header is not. On a GPU the trainers let storages on the CPU count as nothing
/// (count_devices_alone).
class MemoryMeter {
 public:
  MemoryMeter() = default;
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  MemoryCount count(MemoryOwner owner) const { return counts_[static_cast<std::size_t>(owner)].value(); }
  /// Sum over all owners, with its own peak.
  MemoryCount total() const { return total_.value(); }
  void reset_peak(MemoryOwner owner) { counter(owner).reset_peak(); }
  void reset_total_peak() { total_.reset_peak(); }
  void attach();  ///< this thread's allocations count here from now on
  /// Storages of the CPU made from now on count no more: those of a GPU are what this rank is judged by, and are then
  /// the very bytes that LibTorch's own allocator counts there.
  void count_devices_alone() { devices_alone_ = true; }

 private:
  friend struct CountingAllocator;
  friend struct DeviceStorages;
  friend void retag(const at::Tensor&, MemoryOwner);

  /// Only the attached thread adds, so it alone moves the peak; with the threads transport a peer may free what it was
  /// handed and so takes away from here. Relaxed order is enough: the numbers guard no other memory.
  class Counter {
   public:
    MemoryCount value() const { return {live_.load(relaxed), peak_.load(relaxed)}; }
    void add(std::int64_t bytes) {
      const std::int64_t live = live_.fetch_add(bytes, relaxed) + bytes;
      if (live > peak_.load(relaxed)) peak_.store(live, relaxed);
    }
    void subtract(std::int64_t bytes) { live_.fetch_sub(bytes, relaxed); }
    void reset_peak() { peak_.store(live_.load(relaxed), relaxed); }

   private:
    static constexpr std::memory_order relaxed = std::memory_order_relaxed;
    std::atomic<std::int64_t> live_{0};
    std::atomic<std::int64_t> peak_{0};
  };
  Counter& counter(MemoryOwner owner) { return counts_[static_cast<std::size_t>(owner)]; }
  void add(MemoryOwner owner, std::int64_t bytes) {
    counter(owner).add(bytes);
    total_.add(bytes);
  }
  void subtract(MemoryOwner owner, std::int64_t bytes) {
    counter(owner).subtract(bytes);
    total_.subtract(bytes);
  }

  std::array<Counter, memory_owners> counts_;
  Counter total_;
  bool devices_alone_ = false;  ///< set and read on the rank's own thread
};
/// Never freed.
MemoryMeter& new_memory_meter();
/// The meter this thread is attached to (one is made for a thread that never attached).
MemoryMeter& this_thread_meter();

/// Allocations of this thread belong to `owner` while the scope lives. Nests.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryOwner owner);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  MemoryOwner before_;
};

/// A storage on a GPU of `bytes` begins to live at `address`: counts as this thread's allocations do. Called by what
/// watches LibTorch's GPU allocator, from within it.
void count_device_allocation(const void* address, std::int64_t bytes);
/// It is freed. Nothing happens to one that was never counted (it is older than the watching).
void count_device_free(const void* address);

/// Gives a tensor's storage to another owner (and to this thread's meter, where another rank's thread allocated it).
/// Nothing happens to a storage that the meter did not allocate.
void retag(const at::Tensor& tensor, MemoryOwner owner);
/// Bytes of its storage as the meter counts them (0 for an undefined tensor and for a storage it did not allocate).
std::int64_t storage_bytes(const at::Tensor& tensor);

}  // namespace plumbline
