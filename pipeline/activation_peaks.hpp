// SPDX-License-Identifier: BSD-3-Clause
// Largest activation bytes of each forward and backward pass, relative to the start of the step.
#pragma once

#include <cstdint>

#include "training/memory_meter.hpp"
#include "training/run_monitor.hpp"

namespace plumbline {

class ActivationPeaks : public StepObserver {
 public:
  explicit ActivationPeaks(RunMonitor& monitor) : monitor_(monitor) {}

  void step_began(std::int64_t /*step*/) override { start_bytes_ = meter_.count(MemoryOwner::activations).live; }
  void action_began(const StepAction& action) override {
    if (action.computes) meter_.reset_peak(MemoryOwner::activations);
  }
  void action_ended(const StepAction& action) override {
    if (action.computes)
      monitor_.set_activation_peak(action, meter_.count(MemoryOwner::activations).peak - start_bytes_);
  }

 private:
  RunMonitor& monitor_;
  MemoryMeter& meter_ = this_thread_meter();
  std::int64_t start_bytes_ = 0;
};

}  // namespace plumbline
