// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/rank_parts.hpp"

#include <memory>
#include <utility>

#include "pipeline/llama_stage.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

RankParts make_rank_parts(const TrainingRun& training, const PipelinePlan& plan, Group& pipeline) {
  const MemoryScope scope(MemoryOwner::other);
  RankParts parts{{}, {}, pipeline};
  for (const std::int32_t index : plan.schedule.placement.stages_on(pipeline.rank())) {
    auto stage = std::make_unique<LlamaStage>(training, index, plan.stages.at(static_cast<std::size_t>(index)));
    parts.state.add(training.run.train.optimizer, index, stage->slice().parameters());
    parts.stages.push_back(std::move(stage));
  }
  return parts;
}

}  // namespace plumbline
