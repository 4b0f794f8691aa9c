// SPDX-License-Identifier: BSD-3-Clause
// Counts tensor bytes exactly by owner: a counting CPU allocator and, on GPUs, callbacks of LibTorch's allocator, with
// a thread-local owner.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace plumbline {

enum class MemoryOwner : std::uint8_t {
  other,  ///< everything else, including temporaries of optimizer and clipping
  parameters,
  gradients,
  optimizer,
  activations,  ///< the bytes of the activation memory model
  data,         ///< ids, labels
  tables,       ///< RoPE
  transport,    ///< send and receive buffers
  recorder,     ///< digests, dumps
  checkpoint,   ///< the copy that a save in the background keeps
};
inline constexpr std::size_t memory_owners = 10;

struct MemoryCount {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};

/// Installs the counting allocator on top of the current one. Call before the first tensor; later calls do nothing.
void install_memory_meter();

/// One rank's counters. A rank is a thread: `attach` counts this thread's allocations here. Lives until the process
/// ends (tensors may outlive the rank), so create it with `new_memory_meter`. Counts the requested bytes of storages,
/// without the allocator's own header. On a GPU the trainers do not count CPU storages (count_devices_alone).
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
  void attach();  ///< counts this thread's allocations here from now on
  /// Stops counting new CPU storages: on GPUs a rank is judged by its GPU storages, whose bytes are then those that
  /// LibTorch's allocator counts.
  void count_devices_alone() { devices_alone_ = true; }

 private:
  friend struct CountingAllocator;
  friend struct DeviceStorages;
  friend void retag(const at::Tensor&, MemoryOwner);

  /// Only the attached thread adds, so only it moves the peak; with the threads transport a peer may free a tensor it
  /// received and so subtract here. Relaxed order suffices: the numbers guard no other memory.
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
  bool devices_alone_ = false;  ///< accessed on the rank's own thread only
};
/// Never freed.
MemoryMeter& new_memory_meter();
/// The meter of this thread (created if the thread never attached one).
MemoryMeter& this_thread_meter();

/// Allocations of this thread belong to `owner` while the scope lives. Scopes nest.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryOwner owner);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  MemoryOwner before_;
};

/// Counts a GPU storage of `bytes` at `address` as an allocation of this thread. Called from LibTorch's GPU allocator.
void count_device_allocation(const void* address, std::int64_t bytes);
/// Counts its release. Ignores a storage that was never counted (allocated before counting began).
void count_device_free(const void* address);

/// Moves a tensor's storage to another owner (and to this thread's meter, if another rank's thread allocated it).
/// Ignores storages that the meter did not allocate.
void retag(const at::Tensor& tensor, MemoryOwner owner);
/// Bytes of its storage as counted (0 for an undefined tensor and for a storage that the meter did not allocate).
std::int64_t storage_bytes(const at::Tensor& tensor);

}  // namespace plumbline
