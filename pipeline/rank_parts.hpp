// SPDX-License-Identifier: BSD-3-Clause
// The parts that a rank's schedule executor works on.
#pragma once

#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/replica_sum.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/transport/group.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

struct RankParts {
  Stages stages;
  TrainState state;  ///< of all stages
  Group& pipeline;
  ReplicaSum* replicas = nullptr;  ///< null: one pipeline trains
};

/// Throws InputError for weights of another model.
RankParts make_rank_parts(const TrainingRun& training, const PipelinePlan& plan, Group& pipeline);

}  // namespace plumbline
