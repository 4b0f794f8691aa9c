// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/evaluation.hpp"

#include <ATen/core/grad_mode.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "schedule/forward_only.hpp"
#include "training/memory_meter.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {
namespace {

/// A trained stage in an evaluation: runs forward only, with the current parameters, and saves nothing.
class EvaluatedStage : public Stage {
 public:
  /// `evaluation`: the run with its validation data. `observer` receives inputs and losses.
  EvaluatedStage(const Stage& trained, const LlamaSlice& slice, const TrainingRun& evaluation, StepObserver& observer)
      : Stage(trained.index(), trained.last()), slice_(slice), evaluation_(evaluation), observer_(observer) {}

  at::Tensor forward(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor input) override {
    if (slice_.units().empty()) return input;
    const at::NoGradGuard no_grad;
    Microbatch data;
    if (first() || last()) {
      Microbatch made = evaluation_.plan.make(0, microbatch);
      observer_.on_input(microbatch, made);
      data = to_device(std::move(made), evaluation_.device);
    }
    const MemoryScope scope(MemoryOwner::activations);
    at::Tensor output = forward_units(slice_, first() ? std::move(data.ids) : std::move(input),
                                      {data.labels, evaluation_.plan.step_valid_tokens()}, Recompute::none);
    if (!last()) return output;
    observer_.on_loss(microbatch, output);
    return {};
  }
  at::Tensor backward(std::int64_t /*step*/, std::int64_t /*microbatch*/, at::Tensor /*gradient*/) override {
    throw std::logic_error("an evaluation has no backward pass");
  }
  at::Tensor backward_input(std::int64_t step, std::int64_t microbatch, at::Tensor gradient) override {
    return backward(step, microbatch, std::move(gradient));
  }
  void backward_weight(std::int64_t step, std::int64_t microbatch) override { backward(step, microbatch, {}); }

 private:
  const LlamaSlice& slice_;
  const TrainingRun& evaluation_;
  StepObserver& observer_;
};

PipelinePlan forward_plan(PipelinePlan plan, std::int64_t microbatches) {
  plan.lowered = forward_only(plan.schedule.placement, static_cast<std::int32_t>(microbatches));
  return plan;
}

}  // namespace

Evaluation::Evaluation(const TrainingRun& training, const PipelinePlan& plan, const RankParts& parts,
                       StepObserver& heartbeat)
    : run_(evaluation_run(training)),
      plan_(forward_plan(plan, run_.plan.microbatches())),
      owns_loss_(plan.schedule.placement.rank_of(plan.schedule.placement.stages() - 1) == parts.transport.rank()),
      observer_(heartbeat, run_.plan.microbatches(), training.recorded() && owns_loss_),
      parts_{plan_.lowered.ranks.at(static_cast<std::size_t>(parts.transport.rank())),
             {},
             {},
             parts.transport,
             {},
             nullptr},
      executor_(run_, plan_, parts_, observer_) {
  for (std::size_t i = 0; i < parts.slices.size(); ++i) {
    parts_.stages.push_back(std::make_unique<EvaluatedStage>(*parts.stages[i], *parts.slices[i], run_, observer_));
  }
}

std::optional<EvaluationResult> Evaluation::after(std::int64_t step) {
  observer_.losses.begin(run_.plan.microbatches());
  executor_.step(step);
  parts_.transport.collect_traffic();  // the record's traffic table counts training steps only
  if (!owns_loss_) return std::nullopt;
  return EvaluationResult{observer_.losses.read(), observer_.data_digests.end_step()};
}

}  // namespace plumbline
