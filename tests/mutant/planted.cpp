// SPDX-License-Identifier: BSD-3-Clause
// The linker's --wrap (tests/CMakeLists.txt) puts these functions in front of the trainer's own: the plan that all
// ranks share, the parts of a rank, and functions that change its state.
#include "tests/mutant/planted.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/widened_sum.hpp"
#include "pipeline/evaluation.hpp"
#include "pipeline/replica_sum.hpp"
#include "tests/mutant/seamed_stage.hpp"
#include "tests/wrapped.hpp"
#include "training/batch_plan.hpp"
#include "training/checkpoint/load_checkpoint.hpp"
#include "training/gradient_norm.hpp"
#include "training/graph_edges.hpp"
#include "training/loss.hpp"
#include "training/microbatch.hpp"
#include "training/optimizer.hpp"

namespace plumbline::mutant {
namespace {

std::optional<Fault> planted;
/// Each rank is a thread, even if it is alone in its process.
thread_local std::unique_ptr<Seams> seams;
thread_local std::optional<Group> group;  ///< the pipeline's group, over the transport of the seams

}  // namespace

void plant(const Fault& fault) {
  planted = fault;
}

PLUMBLINE_PLANT("_ZN9plumbline9make_planERKNS_3RunEi", PipelinePlan, make_plan, const Run& run, int world);
PipelinePlan wrap_make_plan(const Run& run, int world) {
  PipelinePlan plan = real_make_plan(run, world);
  change_plan(planted.value(), plan);
  return plan;
}

PLUMBLINE_PLANT("_ZN9plumbline15make_rank_partsERKNS_3RunERKNS_12PipelinePlanERNS_5GroupE", RankParts, make_rank_parts,
                const Run& run, const PipelinePlan& plan, Group& pipeline);
RankParts wrap_make_rank_parts(const Run& run, const PipelinePlan& plan, Group& pipeline) {
  seams = make_seams(planted.value(), pipeline.rank());
  group.emplace(seams->transport(pipeline.world()), pipeline.in_world(0), 1, pipeline.size());
  RankParts parts = real_make_rank_parts(run, plan, *group);
  seams->made(run, parts);
  for (auto& stage : parts.stages) stage = std::make_unique<SeamedStage>(std::move(stage), *seams);
  return parts;
}

PLUMBLINE_PLANT("_ZN9plumbline15part_of_replicaERKNS_9BatchPlanERKNS_12PipelinePlanEi", BatchPlan, part_of_replica,
                const BatchPlan& all, const PipelinePlan& plan, int replica);
BatchPlan wrap_part_of_replica(const BatchPlan& all, const PipelinePlan& plan, int replica) {
  return real_part_of_replica(all, plan, planted.value().id == "D6" ? 0 : replica);
}

PLUMBLINE_PLANT("_ZN9plumbline10ReplicaSum5startEllRKNS_10TrainStateE", void, start, ReplicaSum* sum, std::int64_t step,
                std::int64_t stage, const TrainState& state);
void wrap_start(ReplicaSum* sum, std::int64_t step, std::int64_t stage, const TrainState& state) {
  seams->before_replica_sum(step, stage, sum->replica());
  real_start(sum, step, stage, state);
}

PLUMBLINE_PLANT("_ZN9plumbline10ReplicaSum6finishEv", void, finish, ReplicaSum* sum);
void wrap_finish(ReplicaSum* sum) {
  real_finish(sum);
  seams->after_replica_sum(sum->replica(), sum->replicas());
}

PLUMBLINE_PLANT("_ZN9plumbline14zero_gradientsERKNS_10TrainStateE", void, zero_gradients, const TrainState& state);
void wrap_zero_gradients(const TrainState& state) {
  if (seams->zeroes_gradients(state.step)) real_zero_gradients(state);
}

// The build reads the name from the source, so it must stay one string.
// clang-format off
PLUMBLINE_PLANT("_ZN9plumbline15resume_trainingERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_3RunERNS_10TrainStateERNS_9RankGroupE",
                std::optional<ResumedFrom>, resume_training, const std::string& resume, const Run& run,
                TrainState& state, RankGroup& group);
// clang-format on
std::optional<ResumedFrom> wrap_resume_training(const std::string& resume, const Run& run, TrainState& state,
                                                RankGroup& group) {
  auto from = real_resume_training(resume, run, state, group);
  seams->resumed(resume, state);
  return from;
}

PLUMBLINE_PLANT("_ZN9plumbline10Evaluation5afterEl", std::optional<EvaluationResult>, after, Evaluation* evaluation,
                std::int64_t step);
std::optional<EvaluationResult> wrap_after(Evaluation* evaluation, std::int64_t step) {
  seams->evaluation_begins();
  auto result = real_after(evaluation, step);
  seams->evaluated(result);
  return result;
}

PLUMBLINE_PLANT("_ZNK9plumbline9BatchPlan4makeEll", Microbatch, make, const BatchPlan* plan, std::int64_t step,
                std::int64_t microbatch);
Microbatch wrap_make(const BatchPlan* plan, std::int64_t step, std::int64_t microbatch) {
  if (!seams) return real_make(plan, step, microbatch);
  return real_make(plan, seams->step_of_data(step), seams->microbatch_of_data(microbatch));
}

PLUMBLINE_PLANT("_ZN9plumbline13learning_rateERKNS_13TrainSettingsEl", double, learning_rate,
                const TrainSettings& train, std::int64_t step);
double wrap_learning_rate(const TrainSettings& train, std::int64_t step) {
  return real_learning_rate(train, seams->step_of_rate(step));
}

PLUMBLINE_PLANT("_ZN9plumbline19token_weighted_lossERKN2at6TensorES3_l", at::Tensor, token_weighted_loss,
                const at::Tensor& logits, const at::Tensor& labels, std::int64_t tokens);
at::Tensor wrap_token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t tokens) {
  constexpr std::int64_t no_label = -100;
  const auto own = labels.ne(no_label).sum().item<std::int64_t>();
  return real_token_weighted_loss(logits, labels, seams->tokens_of_loss(own, tokens));
}

PLUMBLINE_PLANT("_ZN9plumbline10total_normERKNS_11LlamaConfigERKSt6vectorINS_13ParameterNormESaIS4_EE", double,
                total_norm, const LlamaConfig& config, const std::vector<ParameterNorm>& norms);
double wrap_total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms) {
  std::vector<ParameterNorm> counted = norms;
  seams->norms(counted);
  return real_total_norm(config, counted);
}

PLUMBLINE_PLANT("_ZN9plumbline20forward_to_recomputeERKNS_10LlamaSliceENS_4UnitERKN2at6TensorE", at::Tensor,
                forward_to_recompute, const LlamaSlice& slice, Unit unit, const at::Tensor& input);
at::Tensor wrap_forward_to_recompute(const LlamaSlice& slice, Unit unit, const at::Tensor& input) {
  if (!seams->recomputes()) return slice.forward(unit, input);
  at::Tensor output = real_forward_to_recompute(slice, unit, input);
  seams->kept_input(input);
  return output;
}

PLUMBLINE_PLANT("_ZN9plumbline11add_widenedERKN2at6TensorES3_", void, add_widened, const at::Tensor& sum,
                const at::Tensor& gradient);
void wrap_add_widened(const at::Tensor& sum, const at::Tensor& gradient) {
  real_add_widened(sum, gradient);
  seams->gradient_added(sum);
}

PLUMBLINE_PLANT("_ZN9plumbline13round_mastersERKNS_10TrainStateE", void, round_masters, const TrainState& state);
void wrap_round_masters(const TrainState& state) {
  if (seams->rounds_masters(state.step)) real_round_masters(state);
}

PLUMBLINE_PLANT("_ZN9plumbline14optimizer_stepERKNS_17OptimizerSettingsERNS_10TrainStateEd", void, optimizer_step,
                const OptimizerSettings& settings, TrainState& state, double rate);
void wrap_optimizer_step(const OptimizerSettings& settings, TrainState& state, double rate) {
  seams->before_update(state);
  real_optimizer_step(settings, state, rate);
  seams->after_update(state);
}

}  // namespace plumbline::mutant
