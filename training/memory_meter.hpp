// Counts tensor bytes by owner, exactly: a counting CPU allocator with a thread-local owner (ground.md, "Memory, exactly").
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace plumbline {

enum class MemoryOwner : std::uint8_t {
  other,
  parameters,
  gradients,
  optimizer,
  activations,  ///< what the memory law speaks of
  data,         ///< ids, labels
  tables,       ///< RoPE
  transport,    ///< send and receive buffers
  recorder,     ///< digests, dumps
  scratch,      ///< the optimiser's and the clipping's own
};
inline constexpr std::size_t memory_owners = 10;

struct MemoryCount {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};

/// Puts the counting allocator in place. Call before the first tensor; later calls do nothing.
void install_memory_meter();

/// One rank's counters. A rank is a thread: `attach` makes this thread's allocations count here. Lives until the process ends
/// (tensors may outlive the rank), so make it with `new_memory_meter`.
class MemoryMeter {
 public:
  const MemoryCount& count(MemoryOwner owner) const { return counts_[static_cast<std::size_t>(owner)]; }
  /// Sum over all owners, with its own peak.
  const MemoryCount& total() const { return total_; }
  void reset_peak(MemoryOwner owner);
  void reset_total_peak();
  void attach();  ///< this thread's allocations count here from now on

 private:
  friend class MemoryScope;
  friend struct CountingAllocator;
  friend void retag(const at::Tensor&, MemoryOwner);
  void add(MemoryOwner owner, std::int64_t bytes);
  std::array<MemoryCount, memory_owners> counts_{};
  MemoryCount total_;
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

/// Gives a tensor's storage to another owner (and to this thread's meter, where another rank's thread allocated it).
void retag(const at::Tensor& tensor, MemoryOwner owner);
/// Bytes of its storage as the meter counts them (0 for an undefined tensor).
std::int64_t storage_bytes(const at::Tensor& tensor);

}  // namespace plumbline
