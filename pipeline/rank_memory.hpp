// SPDX-License-Identifier: BSD-3-Clause
// Predicts the bytes that pipeline ranks will allocate, from plan and action lists alone.
#pragma once

#include <string>
#include <vector>

#include "model/unit.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "schedule/action.hpp"
#include "training/memory_plan.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// `list`: the rank's actions, lowered or not. `stages`: units of every stage; `own`: indices of the rank's stages. A
/// microbatch's activations count from its forward pass to the end of its backward pass, or of the weight half of it.
MemoryPlan plan_rank_memory(const TrainingRun& training, const std::vector<UnitRange>& stages,
                            const std::vector<std::int32_t>& own, const ActionList& list);

/// What one rank of the run, or several ranks on one device, hold from the first step to the last.
MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, int rank);
MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, const std::vector<int>& ranks);

/// "rank 2's plan is 3.2 GiB of ..."
std::string memory_plan_text(const TrainingRun& training, const PipelinePlan& plan, int rank);

}  // namespace plumbline
