// SPDX-License-Identifier: BSD-3-Clause
// The plan of a pipeline as text and as JSON.
#pragma once

#include <string>

#include "pipeline/pipeline_plan.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// "4 ranks over mpi (cpu): schedule 1f1b, layers 2, 1, 1, 1 on stages 0 to 3 (uniform)"
std::string plan_text(const TrainingRun& training, const PipelinePlan& plan);
/// Ranks, schedule, and the units of each stage with its rank.
Json plan_json(const TrainingRun& training, const PipelinePlan& plan);

}  // namespace plumbline
