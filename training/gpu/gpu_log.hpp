// SPDX-License-Identifier: BSD-3-Clause
// A GPU's part of a rank's record: the memory of each step (gpu_memory.csv), and ranges on a profiler's timeline
// (NVTX).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "record/writer.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Whether ranks share the allocator. Threads do: a rank that reset the peaks would lose the peaks of other ranks'
/// steps.
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

class ProfilerRanges {
 public:
  /// `gpu` null: does nothing.
  explicit ProfilerRanges(GpuSupport* gpu) : gpu_(gpu) {}

  void began(const StepAction& action) {
    if (gpu_ != nullptr) open_[action.index] = gpu_->begin_range(action.text.c_str());
  }
  void ended(const StepAction& action) {
    if (const auto range = open_.extract(action.index)) gpu_->end_range(range.mapped());
  }

 private:
  GpuSupport* gpu_;
  std::map<std::int64_t, std::uint64_t> open_;  ///< by the action's index
};

}  // namespace plumbline
