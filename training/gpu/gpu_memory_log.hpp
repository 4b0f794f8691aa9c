// gpu_memory.csv: what a step took of the whole GPU, beside the tensors that memory.csv counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "support/csv.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

class GpuMemoryLog {
 public:
  /// Writes nothing without a GPU (`gpu` null).
  GpuMemoryLog(const std::filesystem::path& folder, GpuSupport* gpu, int index);

  /// The allocator's peaks count anew.
  void begin_step();
  /// One row. The peaks are the process': ranks that are threads share them.
  void end_step(std::int64_t step);

 private:
  GpuSupport* gpu_;
  int index_;
  std::optional<CsvWriter> file_;
};

}  // namespace plumbline
