// SPDX-License-Identifier: BSD-3-Clause
// gpu_memory.csv: a step's memory on the whole GPU, in addition to the tensors in memory.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "support/csv.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Who shares the allocator. Ranks that are threads share one: a rank that reset its peaks would lose those of the
/// others' steps.
enum class GpuProcess { one_rank, several_ranks };

class GpuMemoryLog : public StepObserver {
 public:
  /// Writes nothing without a GPU (`gpu` null).
  GpuMemoryLog(const std::filesystem::path& folder, GpuSupport* gpu, int index, GpuProcess process);

  /// Resets the allocator's peaks unless several ranks share it; then they are peaks since the process started.
  void step_began(std::int64_t step) override;
  /// Writes one row.
  void step_ended(std::int64_t step) override;

 private:
  GpuSupport* gpu_;
  int index_;
  GpuProcess process_;
  std::optional<CsvWriter> file_;
};

}  // namespace plumbline
