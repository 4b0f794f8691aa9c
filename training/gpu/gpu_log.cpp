// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/gpu_log.hpp"

namespace plumbline {

void GpuMemoryLog::step_began() {
  if (gpu_ != nullptr && process_ == GpuProcess::one_rank) gpu_->reset_peaks(index_);
}

void GpuMemoryLog::step_ended(std::int64_t step) {
  if (gpu_ == nullptr) return;
  const GpuAllocatorBytes allocator = gpu_->allocator_bytes(index_);
  const GpuFreeMemory memory = gpu_->free_memory(index_);
  writer_.add(GpuMemoryRow{step, allocator.requested_peak, allocator.reserved_peak, allocator.reserved,
                           memory.free_bytes, memory.total_bytes});
}

std::string GpuMemoryLog::uuid() const {
  return gpu_ == nullptr ? "" : gpu_->device(index_).uuid;
}

}  // namespace plumbline
