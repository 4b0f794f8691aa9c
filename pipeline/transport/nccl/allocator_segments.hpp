// The pieces of GPU memory that LibTorch's caching allocator takes from CUDA (segments) and hands out in parts.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <string>

namespace plumbline {

/// Is told by the allocator, on whichever thread allocates or frees, while the allocator's lock is held: it allocates
/// and frees no tensor, and takes no lock under which anybody does.
class SegmentWatcher {
 public:
  virtual ~SegmentWatcher() = default;
  virtual void segment_appeared(const void* begin, std::size_t bytes) noexcept = 0;
  /// The memory goes back to CUDA as soon as this returns. No tensor is in it.
  virtual void segment_vanishes(const void* begin) noexcept = 0;
};

class AllocatorSegments {
 public:
  virtual ~AllocatorSegments() = default;

  /// Why this allocator's memory does not come in segments that stay where they are; empty when it does.
  virtual std::string why_not() = 0;
  /// The watcher hears of every segment of this device, first of those that are there. Call while nobody else allocates
  /// or frees on it. Throws RunError.
  virtual void watch(c10::Device device, SegmentWatcher& watcher) = 0;
  /// When this returns the watcher is told nothing any more.
  virtual void unwatch(SegmentWatcher& watcher) noexcept = 0;
};

}  // namespace plumbline
