// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/plan_text.hpp"

#include <vector>

#include "model/unit.hpp"
#include "support/text.hpp"

namespace plumbline {

std::string plan_text(const TrainingRun& training, const PipelinePlan& plan) {
  const Placement& placement = plan.schedule.placement;
  const PipelineSettings& settings = training.run.pipeline;
  std::vector<std::string> layers;
  for (const UnitRange& stage : plan.stages) layers.push_back(std::to_string(layers_in(training.config, stage)));
  const std::string replicas = plan.replicas == 1 ? "" : std::to_string(plan.replicas) + " replicas of ";
  return replicas + std::to_string(placement.ranks) + (placement.ranks == 1 ? " rank" : " ranks") + " over " +
         settings.transport + " (" + training.run.device + "): schedule " + plan.schedule.name + ", " +
         settings.partition + " partition: stages of " + join(layers, ", ") +
         (training.config.halves ? " half layers" : " layers");
}

Json plan_json(const TrainingRun& training, const PipelinePlan& plan) {
  const Placement& placement = plan.schedule.placement;
  const std::vector<std::string> units = unit_names(training.config);
  Json stages = Json::array();
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const UnitRange range = plan.stages[stage];
    stages.push_back({{"stage", stage},
                      {"rank", placement.rank_of(static_cast<std::int32_t>(stage))},
                      {"units", std::vector(units.begin() + range.first, units.begin() + range.end)}});
  }
  return {{"ranks", plan.world()},          {"replicas", plan.replicas},
          {"schedule", plan.schedule.name}, {"chunks_per_rank", placement.chunks_per_rank},
          {"stages", std::move(stages)},    {"notes", plan.notes}};
}

}  // namespace plumbline
