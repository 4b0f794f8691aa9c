#include "training/gpu/gpu_memory_log.hpp"

#include <string>

namespace plumbline {

GpuMemoryLog::GpuMemoryLog(const std::filesystem::path& folder, GpuSupport* gpu, int index) : gpu_(gpu), index_(index) {
  if (gpu_ == nullptr) return;
  file_.emplace(
      folder / "gpu_memory.csv",
      std::vector<std::string>{"step", "requested_peak_bytes", "reserved_peak_bytes", "free_bytes", "total_bytes"});
}

void GpuMemoryLog::begin_step() {
  if (gpu_ != nullptr) gpu_->reset_peaks(index_);
}

void GpuMemoryLog::end_step(std::int64_t step) {
  if (gpu_ == nullptr) return;
  const GpuAllocatorPeaks peaks = gpu_->peaks(index_);
  const GpuFreeMemory memory = gpu_->free_memory(index_);
  file_->row({std::to_string(step), std::to_string(peaks.requested_bytes), std::to_string(peaks.reserved_bytes),
              std::to_string(memory.free_bytes), std::to_string(memory.total_bytes)});
  file_->flush();
}

}  // namespace plumbline
