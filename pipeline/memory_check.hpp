// SPDX-License-Identifier: BSD-3-Clause
// Whether the memory that is free on each machine is enough for the ranks on it, asked before any of them takes it.
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// What a rank tells of its machine: "<host_identity> <bytes free>".
std::string own_machine();

/// `told` by each rank, in rank order. Throws SystemError naming the machine, its ranks, what is free and their plans'
/// sum.
void require_free_memory(const std::vector<std::string>& told, const TrainingRun& training, const PipelinePlan& plan);

/// Collective, where no rank has made its part of the model yet. Rank 0 throws.
void require_free_memory_everywhere(Transport& transport, const TrainingRun& training, const PipelinePlan& plan);

}  // namespace plumbline
