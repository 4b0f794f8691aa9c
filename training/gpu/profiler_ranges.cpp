#include "training/gpu/profiler_ranges.hpp"

namespace plumbline {

void ProfilerRanges::action_began(const StepAction& action) {
  if (gpu_ != nullptr) open_[action.index] = gpu_->begin_range(action.text.c_str());
}

void ProfilerRanges::action_ended(const StepAction& action) {
  if (const auto range = open_.extract(action.index)) gpu_->end_range(range.mapped());
}

}  // namespace plumbline
