// SPDX-License-Identifier: BSD-3-Clause
// Shows each action as a range on a profiler's timeline (NVTX); ranges may overlap.
#pragma once

#include <cstdint>
#include <map>

#include "training/gpu/gpu_support.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

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
