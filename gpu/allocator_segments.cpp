#include "gpu/allocator_segments.hpp"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "support/error.hpp"

namespace plumbline {
namespace {

using c10::CachingDeviceAllocator::TraceEntry;
namespace allocator = c10::cuda::CUDACachingAllocator;

const void* address(std::size_t value) {
  return reinterpret_cast<const void*>(value);
}

}  // namespace

std::string CachingAllocatorSegments::why_not() {
  at::globalContext().lazyInitDevice(c10::kCUDA);  // before, the allocator is not chosen
  if (allocator::name() != "native") return "the allocator " + allocator::name() + " does not show its segments";
  // They grow and shrink in place, piece by piece: a tensor may lie across pieces that were registered one by one.
  if (allocator::CUDAAllocatorConfig::expandable_segments()) {
    return "expandable_segments in PYTORCH_CUDA_ALLOC_CONF: segments change while they are registered";
  }
  return {};
}

void CachingAllocatorSegments::attach_once() {
  std::call_once(attached_, [this] {
    allocator::attachAllocatorTraceTracker([this](const TraceEntry& entry) {
      // SEGMENT_ALLOC comes after cudaMalloc, SEGMENT_FREE before cudaFree.
      const bool appears = entry.action_ == TraceEntry::SEGMENT_ALLOC;
      if (!appears && entry.action_ != TraceEntry::SEGMENT_FREE) return;
      const std::lock_guard guard(lock_);
      for (const auto& [watcher, device] : watchers_) {
        if (device != entry.device_) continue;
        if (appears) watcher->segment_appeared(address(entry.addr_), entry.size_);
        if (!appears) watcher->segment_vanishes(address(entry.addr_));
      }
    });
  });
}

void CachingAllocatorSegments::watch(c10::Device device, SegmentWatcher& watcher) try {
  attach_once();
  {
    const std::lock_guard guard(lock_);
    watchers_[&watcher] = device.index();
  }
  // Not under our lock: the allocator takes its own, under which it asks for ours. Who appears in between is told
  // twice.
  const allocator::SnapshotInfo snapshot = allocator::snapshot({0, 0}, /*include_traces=*/false);
  for (const c10::CachingDeviceAllocator::SegmentInfo& segment : snapshot.segments) {
    if (segment.device != device.index() || segment.is_expandable) continue;
    watcher.segment_appeared(address(segment.address), segment.total_size);
  }
} catch (const c10::Error& error) {
  unwatch(watcher);
  throw RunError(std::string("LibTorch's allocator: ") + error.what_without_backtrace());
}

void CachingAllocatorSegments::unwatch(SegmentWatcher& watcher) noexcept {
  const std::lock_guard guard(lock_);
  watchers_.erase(&watcher);
}

}  // namespace plumbline
