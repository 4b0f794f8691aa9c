// An allocator of host tensors that, as LibTorch's does on a GPU, takes memory in segments, hands it out in parts and
// gives a segment back: here as soon as its last tensor has gone, so that segments come and go all the time.
#pragma once

#include <cstddef>

#include "pipeline/transport/nccl/allocator_segments.hpp"

namespace plumbline::strict {

/// Puts it below all host tensors of this process. Before install_memory_meter and the first tensor; later calls do
/// nothing.
void install_segment_allocator();
bool has_segment_allocator();

/// Segments of one thread, as a process has those of its GPU: the thread's tensors lie in them, whoever frees them.
class SegmentArena {
 public:
  /// Of the calling thread. Lives until the process ends.
  static SegmentArena& of_this_thread();

  /// As AllocatorSegments, which see. `freed` is called after the watcher and before the memory goes.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void freed(const void* begin, std::size_t bytes) noexcept = 0;
  };
  void watch(SegmentWatcher& watcher, Owner& owner);
  void unwatch() noexcept;

 private:
  friend class SegmentAllocator;
  struct Shared;
  explicit SegmentArena(Shared& shared) : shared_(shared) {}
  Shared& shared_;
};

}  // namespace plumbline::strict
