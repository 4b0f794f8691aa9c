// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/rank_parts.hpp"

#include <memory>
#include <utility>

#include "pipeline/llama_stage.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

RankParts make_rank_parts(const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                          StepObserver& observer) {
  const MemoryScope scope(MemoryOwner::other);
  RankParts parts{plan.lowered.ranks.at(static_cast<std::size_t>(transport.rank())), {}, {}, transport, {}, nullptr};
  for (const std::int32_t index : plan.schedule.placement.stages_on(transport.rank())) {
    auto stage =
        std::make_unique<LlamaStage>(training, index, plan.stages.at(static_cast<std::size_t>(index)), observer);
    parts.state.add(training.run.train.optimizer, index, stage->slice().parameters());
    parts.slices.push_back(&stage->slice());
    parts.stages.push_back(std::move(stage));
  }
  return parts;
}

}  // namespace plumbline
