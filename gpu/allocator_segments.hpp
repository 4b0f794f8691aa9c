// The segments of LibTorch's CUDA caching allocator.
#pragma once

#include <map>
#include <mutex>

#include "pipeline/transport/nccl/allocator_segments.hpp"

namespace plumbline {

/// One a process; its trackers cannot be taken off the allocator again, so it is never destroyed.
class CachingAllocatorSegments final : public AllocatorSegments {
 public:
  std::string why_not() override;
  void watch(c10::Device device, SegmentWatcher& watcher) override;
  void unwatch(SegmentWatcher& watcher) noexcept override;

 private:
  void attach_once();

  std::once_flag attached_;
  std::mutex lock_;  ///< taken under the allocator's
  std::map<SegmentWatcher*, c10::DeviceIndex> watchers_;
};

}  // namespace plumbline
