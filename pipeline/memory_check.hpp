// SPDX-License-Identifier: BSD-3-Clause
// Checks, before any rank allocates its part, whether each machine has enough free memory for its ranks.
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// A rank's report on its machine: "<host_identity> <bytes free>".
std::string own_machine();

/// `reports`: own_machine() of each rank, in rank order. Throws SystemError naming the machine, its ranks, its free
/// memory and the sum of their plans.
void require_free_memory(const std::vector<std::string>& reports, const TrainingRun& training,
                         const PipelinePlan& plan);

/// Collective; call before any rank creates its part of the model. Rank 0 throws.
void require_free_memory_everywhere(Transport& transport, const TrainingRun& training, const PipelinePlan& plan);

}  // namespace plumbline
