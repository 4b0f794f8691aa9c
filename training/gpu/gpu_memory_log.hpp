// SPDX-License-Identifier: BSD-3-Clause
// gpu_memory.csv: what a step took of the whole GPU, beside the tensors that memory.csv counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "support/csv.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Whose allocator it is. Ranks that are threads share one: a rank that let its peaks count anew would take from the
/// others what they reached in a step of their own.
enum class GpuProcess { one_rank, several_ranks };

class GpuMemoryLog : public StepObserver {
 public:
  /// Writes nothing without a GPU (`gpu` null).
  GpuMemoryLog(const std::filesystem::path& folder, GpuSupport* gpu, int index, GpuProcess process);

  /// The allocator's peaks count anew, unless several ranks share it: there they are those since the process began.
  void step_began(std::int64_t step) override;
  /// One row.
  void step_ended(std::int64_t step) override;

 private:
  GpuSupport* gpu_;
  int index_;
  GpuProcess process_;
  std::optional<CsvWriter> file_;
};

}  // namespace plumbline
