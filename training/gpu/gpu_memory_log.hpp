// SPDX-License-Identifier: BSD-3-Clause
// gpu_memory.csv: a step's memory on the whole GPU, in addition to the tensors in memory.csv.
#pragma once

#include <cstdint>
#include <string>

#include "record/writer.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Who shares the allocator. Ranks that are threads share one: a rank that reset its peaks would lose those of the
/// others' steps.
enum class GpuProcess { one_rank, several_ranks };

class GpuMemoryLog {
 public:
  /// Writes nothing without a GPU (`gpu` null).
  GpuMemoryLog(RecordWriter& writer, GpuSupport* gpu, int index, GpuProcess process)
      : writer_(writer), gpu_(gpu), index_(index), process_(process) {}

  /// Resets the allocator's peaks unless several ranks share it; then they are peaks since the process started.
  void step_began();
  /// Adds a row.
  void step_ended(std::int64_t step);
  /// The GPU's, by which ranks that share one are known; empty without a GPU.
  std::string uuid() const;

 private:
  RecordWriter& writer_;
  GpuSupport* gpu_;
  int index_;
  GpuProcess process_;
};

}  // namespace plumbline
