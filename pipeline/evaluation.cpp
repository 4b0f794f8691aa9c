#include "pipeline/evaluation.hpp"

#include <memory>
#include <utility>

#include "pipeline/evaluated_stage.hpp"
#include "schedule/forward_only.hpp"

namespace plumbline {
namespace {

PipelinePlan forward_plan(PipelinePlan plan, std::int64_t microbatches) {
  plan.lowered = forward_only(plan.schedule.placement, static_cast<std::int32_t>(microbatches));
  return plan;
}

}  // namespace

Evaluation::Evaluation(const TrainingRun& training, const PipelinePlan& plan, const RankParts& parts,
                       StepObserver& page)
    : run_(evaluation_run(training)),
      plan_(forward_plan(plan, run_.plan.microbatches())),
      owns_loss_(plan.schedule.placement.rank_of(plan.schedule.placement.stages() - 1) == parts.transport.rank()),
      observer_(page, run_.plan.microbatches(), training.recorded() && owns_loss_),
      parts_{plan_.lowered.ranks.at(static_cast<std::size_t>(parts.transport.rank())), {}, {}, parts.transport, {}},
      walk_(run_, plan_, parts_, observer_) {
  for (std::size_t i = 0; i < parts.slices.size(); ++i) {
    parts_.stages.push_back(
        std::make_unique<EvaluatedStage>(run_, parts.stages[i]->index(), *parts.slices[i], observer_));
  }
}

std::optional<EvaluationResult> Evaluation::after(std::int64_t step) {
  observer_.losses.begin(run_.plan.microbatches());
  walk_.step(step);
  parts_.transport.take_traffic();  // the record's is that of the steps
  if (!owns_loss_) return std::nullopt;
  return EvaluationResult{observer_.losses.read(), observer_.fed_data.end_step()};
}

}  // namespace plumbline
