// SPDX-License-Identifier: BSD-3-Clause
// A rank's device, held against what is planned for it before anything is made there.
#pragma once

#include <string>

#include "training/memory_plan.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Where the run is on GPUs, the first that the process sees is its device; else nothing happens.
void take_first_gpu(TrainingRun& training);

/// This thread's device and its room for `who`. Throws SystemError, RunError.
void prepare_device(const TrainingRun& training, const MemoryPlan& need, const std::string& who);

}  // namespace plumbline
