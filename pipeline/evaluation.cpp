// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/evaluation.hpp"

#include "schedule/forward_only.hpp"

namespace plumbline {
namespace {

ActionList forward_list(const Placement& placement, std::int64_t microbatches, int rank) {
  return forward_only(placement, static_cast<std::int32_t>(microbatches)).ranks.at(static_cast<std::size_t>(rank));
}

}  // namespace

Evaluation::Evaluation(const TrainingRun& training, const PipelinePlan& plan, RankParts& parts, StepObserver& heartbeat)
    : pipeline_(parts.pipeline),
      microbatches_(evaluation_data(training).microbatches()),
      owns_loss_(plan.schedule.placement.rank_of(plan.schedule.placement.stages() - 1) == pipeline_.rank()),
      observer_(heartbeat, microbatches_, training.recorded() && owns_loss_),
      executor_(training, plan, parts, forward_list(plan.schedule.placement, microbatches_, pipeline_.rank()),
                {evaluation_data(training), observer_, /*trains=*/false}) {}

std::optional<EvaluationResult> Evaluation::after(std::int64_t step) {
  observer_.losses.begin(microbatches_);
  executor_.step(step);
  pipeline_.collect_traffic();  // the record's traffic table counts training steps only
  if (!owns_loss_) return std::nullopt;
  return EvaluationResult{observer_.losses.read(), observer_.data_digests.end_step()};
}

}  // namespace plumbline
