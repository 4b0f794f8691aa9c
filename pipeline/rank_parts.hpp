// SPDX-License-Identifier: BSD-3-Clause
// The parts that a rank's schedule executor works on.
#pragma once

#include <vector>

#include "model/llama_slice.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/replica_group.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/step_observer.hpp"
#include "training/train_state.hpp"
#include "training/training_run.hpp"

namespace plumbline {

struct RankParts {
  ActionList list;  ///< lowered
  Stages stages;
  TrainState state;                            ///< of all stages
  Transport& transport;                        ///< of the pipeline
  std::vector<const LlamaSlice*> slices = {};  ///< of the stages, for other computations with their parameters
  ReplicaGroup* replicas = nullptr;            ///< null: one pipeline trains
};

/// Throws InputError for weights of another model.
RankParts make_rank_parts(const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                          StepObserver& observer);

}  // namespace plumbline
