// SPDX-License-Identifier: BSD-3-Clause
// Faults in code that reference and pipeline share. Their records stay equal, so only the cross-check can find them
// (python/README.md lists each fault and the run and check that find it). Linked only into a reference for tests: the
// linker's --wrap puts these functions in front of the reference's own. PLUMBLINE_SHARED_FAULT names the fault.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "model/rope.hpp"
#include "tests/wrapped.hpp"
#include "training/batch_plan.hpp"
#include "training/gradient_norm.hpp"
#include "training/loss.hpp"
#include "training/microbatch.hpp"
#include "training/optimizer.hpp"
#include "training/tokens.hpp"
#include "training/trainer.hpp"
#include "training/window_shuffle.hpp"

namespace plumbline::shared_faults {
namespace {

bool planted(const char* fault) {
  const char* name = std::getenv("PLUMBLINE_SHARED_FAULT");
  return name != nullptr && std::string(name) == fault;
}

}  // namespace

PLUMBLINE_PLANT("_ZN9plumbline13learning_rateERKNS_13TrainSettingsEl", double, learning_rate,
                const TrainSettings& train, std::int64_t step);
double wrap_learning_rate(const TrainSettings& train, std::int64_t step) {
  return real_learning_rate(train, planted("rate_early") ? step + 1 : step);
}

PLUMBLINE_PLANT("_ZN9plumbline16clip_coefficientEdSt8optionalIdE", double, clip_coefficient, double norm,
                std::optional<double> limit);
double wrap_clip_coefficient(double norm, std::optional<double> limit) {
  return real_clip_coefficient(planted("coefficient_epsilon") ? norm + 1e-6 : norm, limit);
}

PLUMBLINE_PLANT("_ZN9plumbline15scale_gradientsERKNS_10TrainStateEd", void, scale_gradients, const TrainState& state,
                double coefficient);
void wrap_scale_gradients(const TrainState& state, double coefficient) {
  if (planted("clip_not_applied")) return;
  real_scale_gradients(state, coefficient);
  if (planted("clip_applied_twice")) real_scale_gradients(state, coefficient);
}

PLUMBLINE_PLANT("_ZN9plumbline14optimizer_stepERKNS_17OptimizerSettingsERNS_10TrainStateEd", void, optimizer_step,
                const OptimizerSettings& settings, TrainState& state, double rate);
void wrap_optimizer_step(const OptimizerSettings& settings, TrainState& state, double rate) {
  static thread_local double last_rate = 0;
  const double given = planted("rate_of_last_step") ? last_rate : rate;
  last_rate = rate;
  if (planted("second_step_skipped") && state.step == 1) return;
  real_optimizer_step(settings, state, given);
  if (planted("step_applied_twice")) real_optimizer_step(settings, state, given);
  const at::NoGradGuard no_grad;
  for (const TrainedParameter& each : state.parameters) {
    if (planted("moments_exchanged") && each.moment2.defined()) {
      const at::Tensor moment1 = each.moment1.clone();
      each.moment1.copy_(each.moment2);
      each.moment2.copy_(moment1.abs());
    }
    if (planted("step_count_restarts") && each.updates.defined()) each.updates.zero_();
  }
}

PLUMBLINE_PLANT("_ZN9plumbline10total_normERKNS_11LlamaConfigERKSt6vectorINS_13ParameterNormESaIS4_EE", double,
                total_norm, const LlamaConfig& config, const std::vector<ParameterNorm>& norms);
double wrap_total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms) {
  std::vector<ParameterNorm> counted = norms;
  for (ParameterNorm& norm : counted)
    if (planted("norm_without_final_norm") && norm.name == "model.norm.weight") norm.norm = 0;
  return real_total_norm(config, counted);
}

PLUMBLINE_PLANT("_ZN9plumbline9step_lossERKSt6vectorIfSaIfEE", float, step_loss, const std::vector<float>& losses);
float wrap_step_loss(const std::vector<float>& losses) {
  const float loss = real_step_loss(losses);
  return planted("loss_averaged") ? loss / static_cast<float>(losses.size()) : loss;
}

PLUMBLINE_PLANT("_ZN9plumbline14zero_gradientsERKNS_10TrainStateE", void, zero_gradients, const TrainState& state);
void wrap_zero_gradients(const TrainState& state) {
  if (!planted("gradients_not_zeroed")) real_zero_gradients(state);
}

PLUMBLINE_PLANT("_ZN9plumbline19token_weighted_lossERKN2at6TensorES3_l", at::Tensor, token_weighted_loss,
                const at::Tensor& logits, const at::Tensor& labels, std::int64_t tokens);
at::Tensor wrap_token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t tokens) {
  constexpr std::int64_t no_label = -100;
  if (planted("loss_per_microbatch"))  // a mean of means
    tokens = std::max(labels.ne(no_label).sum().item<std::int64_t>(), std::int64_t{1});
  return real_token_weighted_loss(
      logits, planted("masked_labels_counted") ? labels.masked_fill(labels.eq(no_label), 0) : labels, tokens);
}

PLUMBLINE_PLANT("_ZN9plumbline16make_rope_tablesERKNS_11LlamaConfigElN3c1010ScalarTypeE", RopeTables, make_rope_tables,
                const LlamaConfig& config, std::int64_t longest, at::ScalarType dtype);
RopeTables wrap_make_rope_tables(const LlamaConfig& config, std::int64_t longest, at::ScalarType dtype) {
  constexpr std::int64_t restart = 64;
  RopeTables tables = real_make_rope_tables(config, longest, dtype);
  for (at::Tensor* table : {&tables.cos, &tables.sin})
    for (std::int64_t at = restart; planted("rope_restarts_at_64") && at < longest; at += restart)
      table->slice(0, at, std::min(longest, at + restart)).copy_(table->slice(0, 0, std::min(longest - at, restart)));
  return tables;
}

PLUMBLINE_PLANT("_ZNK9plumbline9BatchPlan4makeEll", Microbatch, make, const BatchPlan* plan, std::int64_t step,
                std::int64_t microbatch);
Microbatch wrap_make(const BatchPlan* plan, std::int64_t step, std::int64_t microbatch) {
  return real_make(plan, planted("data_of_next_step") ? step + 1 : step, microbatch);
}

PLUMBLINE_PLANT("_ZN9plumbline15evaluation_dataERKNS_3RunE", const BatchPlan&, evaluation_data, const Run& run);
const BatchPlan& wrap_evaluation_data(const Run& run) {
  if (planted("evaluation_of_training_data")) return run.batches;
  if (!planted("evaluation_repeats_a_microbatch")) return real_evaluation_data(run);
  static const BatchPlan repeats = [&] {
    DataSettings repeated = run.file.validation.value();
    repeated.row_lengths[1] = repeated.row_lengths[0];
    return BatchPlan(repeated, load_tokens(repeated, run.config.vocab_size));
  }();
  return repeats;
}

PLUMBLINE_PLANT("_ZN9plumbline13round_mastersERKNS_10TrainStateE", void, round_masters, const TrainState& state);
void wrap_round_masters(const TrainState& state) {
  if (planted("copy_not_refreshed") && state.step == 1) return;
  real_round_masters(state);
  const at::NoGradGuard no_grad;
  for (const TrainedParameter& each : state.parameters)
    if (planted("master_rounded") && each.master.defined() && !each.alias) each.trained().copy_(each.value);
}

PLUMBLINE_PLANT("_ZN9plumbline15shuffled_windowEmlll", std::int64_t, shuffled_window, std::uint64_t seed,
                std::int64_t epoch, std::int64_t index, std::int64_t windows);
std::int64_t wrap_shuffled_window(std::uint64_t seed, std::int64_t epoch, std::int64_t index, std::int64_t windows) {
  return real_shuffled_window(seed, planted("same_order_every_epoch") ? 0 : epoch, index, windows);
}

}  // namespace plumbline::shared_faults
