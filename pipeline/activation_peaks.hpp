// SPDX-License-Identifier: BSD-3-Clause
// Largest activation bytes of each forward and backward pass. What an earlier step left behind counts too.
#pragma once

#include <cstdint>

#include "training/memory_meter.hpp"
#include "training/run_monitor.hpp"

namespace plumbline {

class ActivationPeaks : public StepObserver {
 public:
  explicit ActivationPeaks(RunMonitor& monitor) : monitor_(monitor) {}

  void action_began(const StepAction& action) override {
    if (action.computes) meter_.reset_peak(MemoryOwner::activations);
  }
  void action_ended(const StepAction& action) override {
    if (action.computes) monitor_.set_activation_peak(action, meter_.count(MemoryOwner::activations).peak);
  }

 private:
  RunMonitor& monitor_;
  MemoryMeter& meter_ = this_thread_meter();
};

}  // namespace plumbline
