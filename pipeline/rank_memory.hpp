// The bytes that one rank of a pipeline will take, from plan and list alone.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "model/unit.hpp"
#include "schedule/action.hpp"
#include "training/batch_plan.hpp"
#include "training/memory_plan.hpp"

namespace plumbline {

/// `list`: the rank's actions, lowered or not. `stages`: units of every stage; `own`: the rank's among them. A
/// microbatch's activations count from its forward pass until its backward pass, or the weight half of it, has ended.
MemoryPlan plan_rank_memory(const LlamaConfig& config, const std::vector<UnitRange>& stages,
                            const std::vector<std::int32_t>& own, const ActionList& list, const BatchPlan& batches,
                            const TrainSettings& train);

}  // namespace plumbline
