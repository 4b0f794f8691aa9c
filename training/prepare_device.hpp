// SPDX-License-Identifier: BSD-3-Clause
// Prepares a rank's device and compares the plan with its free memory before anything is allocated.
#pragma once

#include <string>

#include "training/memory_plan.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// For a run on GPUs, selects the first visible one; otherwise does nothing.
void use_first_gpu(TrainingRun& training);

/// Sets this thread's device and checks its memory for `owner`. Throws SystemError, RunError.
void prepare_device(const TrainingRun& training, const MemoryPlan& need, const std::string& owner);

}  // namespace plumbline
