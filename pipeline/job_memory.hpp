// The memory that the ranks of a job will take, held against what there is before they begin.
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "training/memory_plan.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// What one rank keeps, and what several together keep in one place, from the first step to the last.
MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, int rank);
MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, const std::vector<int>& ranks);

/// "rank 2's plan is 3.2 GiB of ..."
std::string memory_plan_text(const MemoryPlan& need, int rank);

/// This thread's device and its room for `who`. Throws SystemError, RunError.
void prepare_device(const TrainingRun& training, const MemoryPlan& need, const std::string& who);

}  // namespace plumbline
