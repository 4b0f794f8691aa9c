// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/gpu_memory_log.hpp"

#include "record/columns.hpp"

namespace plumbline {

GpuMemoryLog::GpuMemoryLog(const std::filesystem::path& folder, GpuSupport* gpu, int index, GpuProcess process)
    : gpu_(gpu), index_(index), process_(process) {
  if (gpu_ != nullptr) file_.emplace(folder / table_of<GpuMemoryRow>().file, header_of<GpuMemoryRow>());
}

void GpuMemoryLog::step_began(std::int64_t /*step*/) {
  if (gpu_ != nullptr && process_ == GpuProcess::one_rank) gpu_->reset_peaks(index_);
}

void GpuMemoryLog::step_ended(std::int64_t step) {
  if (gpu_ == nullptr) return;
  const GpuAllocatorBytes allocator = gpu_->allocator_bytes(index_);
  const GpuFreeMemory memory = gpu_->free_memory(index_);
  file_->row(cells_of(GpuMemoryRow{step, allocator.requested_peak, allocator.reserved_peak, allocator.reserved,
                                   memory.free_bytes, memory.total_bytes}));
  file_->flush();
}

}  // namespace plumbline
