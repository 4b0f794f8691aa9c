// SPDX-License-Identifier: BSD-3-Clause
// The bytes that pipeline ranks will allocate, from plan and action lists alone: as a plan, a table, a requirement.
#pragma once

#include <string>
#include <vector>

#include "model/unit.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "schedule/action.hpp"
#include "training/memory_plan.hpp"
#include "training/rank_group.hpp"
#include "training/run.hpp"

namespace plumbline {

/// `batches`: those that the rank's replica trains on. `stages`: units of every stage; `own`: indices of the rank's
/// stages. `list`: the rank's actions, lowered or not. A microbatch's activations count from its forward pass to the
/// end of its backward pass, or of the weight half of it.
MemoryPlan plan_rank_memory(const Run& run, const BatchPlan& batches, const std::vector<UnitRange>& stages,
                            const std::vector<std::int32_t>& own, const ActionList& list);

/// What one rank of the run, or several ranks on one device, need.
MemoryPlan memory_of(const Run& run, const PipelinePlan& plan, int rank);
MemoryPlan memory_of(const Run& run, const PipelinePlan& plan, const std::vector<int>& ranks);

/// "rank 2's plan is 3.2 GiB of ..."
std::string memory_plan_text(const Run& run, const PipelinePlan& plan, int rank);

/// Rows (memory_row) for one device, for 1 to 8 ranks and for `world`, or why the run's schedule does not support that
/// number.
Json memory_table(const Run& run, int world);

/// A rank's report on its machine: "<host_identity> <bytes free>".
std::string own_machine();

/// `reports`: own_machine() of each rank, in rank order. Throws SystemError naming the machine, its ranks, its free
/// memory and the sum of their plans.
void require_free_memory(const std::vector<std::string>& reports, const Run& run, const PipelinePlan& plan);

/// Collective; call before any rank creates its part of the model. Rank 0 throws.
void require_free_memory_everywhere(RankGroup& group, const Run& run, const PipelinePlan& plan);

}  // namespace plumbline
