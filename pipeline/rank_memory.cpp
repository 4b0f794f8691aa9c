// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/rank_memory.hpp"

#include <algorithm>

#include "support/machine_memory.hpp"
#include "training/precision.hpp"

namespace plumbline {

MemoryPlan plan_rank_memory(const TrainingRun& training, const std::vector<UnitRange>& stages,
                            const std::vector<std::int32_t>& own, const ActionList& list) {
  const LlamaConfig& config = training.config;
  const TrainSettings& train = training.run.train;
  const c10::ScalarType dtype = computed_type(train);
  std::vector<UnitRange> units;
  for (const std::int32_t stage : own) units.push_back(stages.at(static_cast<std::size_t>(stage)));
  MemoryPlan plan = plan_state(config, units, training.run);

  std::int64_t live = 0;
  for (const Action& action : list) {
    const bool begins = action.type == ActionType::forward;
    const bool ends = action.type == ActionType::backward || action.type == ActionType::backward_weight;
    if (!begins && !ends) continue;
    const std::int64_t tokens = training.plan.padded_tokens(action.microbatch);
    const UnitRange stage = stages.at(static_cast<std::size_t>(action.stage));
    const std::int64_t rows = math_sequence(training.plan, action.microbatch, training.run.device, dtype);
    const std::int64_t bytes = plan_saved(config, stage, tokens, dtype, train.recompute, rows);
    const std::int64_t beside =
        begins ? plan_logits(config, stage, tokens, dtype) : plan_backward(config, stage, tokens, train, rows);
    if (begins) live = sum_of_sizes({live, bytes});
    plan.activations = std::max(plan.activations, sum_of_sizes({live, beside}));
    if (ends) live -= bytes;
  }
  return plan;
}

MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, int rank) {
  const int here = plan.rank_in_pipeline(rank);
  return plan_rank_memory(run_of_replica(training, plan, plan.replica_of(rank)), plan.stages,
                          plan.schedule.placement.stages_on(here),
                          plan.schedule.ranks.at(static_cast<std::size_t>(here)));
}

MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, const std::vector<int>& ranks) {
  MemoryPlan all;
  for (const int rank : ranks) {
    const MemoryPlan one = memory_of(training, plan, rank);
    for (const auto part : {&MemoryPlan::parameters, &MemoryPlan::gradients, &MemoryPlan::optimizer,
                            &MemoryPlan::activations, &MemoryPlan::dump, &MemoryPlan::checkpoint}) {
      all.*part = sum_of_sizes({all.*part, one.*part});
    }
  }
  return all;
}

std::string memory_plan_text(const TrainingRun& training, const PipelinePlan& plan, int rank) {
  return "rank " + std::to_string(rank) + "'s plan is " + to_text(memory_of(training, plan, rank));
}

}  // namespace plumbline
