// Segments of LibTorch's allocator, registered with the NCCL communicators of one rank, so that messages may go without
// NCCL's own buffers. Whole segments and not tensors: there are few of them and they live long.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "pipeline/transport/nccl/allocator_segments.hpp"
#include "pipeline/transport/nccl/gpu_api.hpp"

namespace plumbline {

class RegisteredMemory final : private SegmentWatcher {
 public:
  /// Watches the allocator from now on; nothing is registered yet. Throws RunError. Both outlive it.
  RegisteredMemory(NcclApi& nccl, AllocatorSegments& segments, c10::Device device);
  ~RegisteredMemory() override;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  /// Registers what has appeared since the last call. The communicator is idle and no group is open. Throws RunError
  /// when NCCL refuses a segment or takes none.
  void register_with(NcclCommunicator communicator);
  /// While it is held no segment vanishes: from before a group's first call to behind its last one. No tensor may be
  /// allocated or freed meanwhile, since the allocator waits for this lock under its own.
  [[nodiscard]] std::unique_lock<std::mutex> hold();
  /// Whether all of it lies in one registered segment; `hold` is held.
  bool covers(NcclCommunicator communicator, const void* data, std::size_t bytes) const;
  /// Before the communicator is finalised; it is idle.
  void deregister_all(NcclCommunicator communicator) noexcept;
  /// Before the communicator is aborted, which frees its registrations.
  void forget(NcclCommunicator communicator) noexcept;

  struct Count {
    std::int64_t segments = 0;  ///< registered now
    std::int64_t bytes = 0;
    std::int64_t vanished = 0;  ///< deregistered because the allocator gave them back
  };
  Count count() const;

 private:
  struct Segment {
    std::size_t bytes = 0;
    std::map<NcclCommunicator, NcclRegistration> registrations;
  };

  void segment_appeared(const void* begin, std::size_t bytes) noexcept override;
  void segment_vanishes(const void* begin) noexcept override;
  void wait_until_idle(NcclCommunicator communicator) noexcept;

  NcclApi& nccl_;
  AllocatorSegments& source_;
  mutable std::mutex lock_;  ///< taken under the allocator's; nothing that allocates is called under it
  std::map<const void*, Segment> segments_;
  std::uint64_t appeared_ = 0;
  std::map<NcclCommunicator, std::uint64_t> up_to_;  ///< what `appeared_` was when it was given all
  std::int64_t vanished_ = 0;
};

}  // namespace plumbline
