// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_plan.hpp"

#include <algorithm>

#include "model/parameter_shapes.hpp"
#include "model/saved_bytes.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "training/environment.hpp"
#include "training/loss.hpp"
#include "training/precision.hpp"

namespace plumbline {

std::string to_text(const MemoryPlan& plan) {
  return "at least " + bytes_text(plan.total()) + ": parameters " + bytes_text(plan.parameters) + ", gradients " +
         bytes_text(plan.gradients) + ", optimiser " + bytes_text(plan.optimizer) + ", activations " +
         bytes_text(plan.activations) +
         (plan.checkpoint == 0 ? "" : ", copy for checkpoints " + bytes_text(plan.checkpoint));
}

namespace {

/// Bytes of all parameters of one unit; "layers.0" stands for every layer, since all are equal.
std::int64_t unit_bytes(LlamaConfig config, const std::string& unit, std::int64_t element) {
  config.layers = 1;
  std::int64_t bytes = 0;
  for (const ParameterShape& parameter : parameter_shapes(config)) {
    if (parameter.unit != unit) continue;
    std::int64_t size = element;
    for (const std::int64_t dimension : parameter.shape) size = product_of_sizes({size, dimension});
    bytes = sum_of_sizes({bytes, size});
  }
  return bytes;
}

}  // namespace

std::int64_t MemoryPlan::state() const {
  return sum_of_sizes({parameters, gradients, optimizer});
}

std::int64_t MemoryPlan::total() const {
  return sum_of_sizes({state(), activations, checkpoint});
}

bool copies_state(const RunFile& run) {
  return run.checkpoint.background && run.device == "cpu";
}

MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, const TrainSettings& train,
                      bool copied) {
  const OptimizerSettings& optimizer = train.optimizer;
  const auto element = static_cast<std::int64_t>(c10::elementSize(trained_type(train)));
  const auto rounded = is_mixed(train) ? static_cast<std::int64_t>(c10::elementSize(computed_type(train))) : 0;
  const std::int64_t moments = optimizer.name == "adamw" ? 2 : optimizer.momentum != 0 ? 1 : 0;
  MemoryPlan plan;
  const auto add = [&](const std::string& unit, std::int64_t times, bool alias = false) {
    const std::int64_t bytes = product_of_sizes({times, unit_bytes(config, unit, element)});
    plan.gradients = sum_of_sizes({plan.gradients, bytes});
    // a tied head with its embedding adds only a gradient
    if (alias) return;
    plan.parameters = sum_of_sizes({plan.parameters, bytes, product_of_sizes({bytes / element, rounded})});
    plan.optimizer = sum_of_sizes({plan.optimizer, product_of_sizes({moments, bytes})});
    if (copied) plan.checkpoint = sum_of_sizes({plan.checkpoint, product_of_sizes({1 + moments, bytes})});
  };
  for (const UnitRange range : units) {
    if (holds(config, range, UnitKind::embedding)) add("embed_tokens", 1);
    add("layers.0", layers_in(config, range));
    if (holds(config, range, UnitKind::norm)) add("norm", 1);
    if (holds(config, range, UnitKind::head))
      add("lm_head", 1, config.tied && holds(config, range, UnitKind::embedding));
  }
  return plan;
}

std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                        Recompute recompute, std::int64_t math_sequence) {
  const std::int64_t layer =  // all layers are equal
      saved_bytes(config, {UnitKind::layer}, tokens, dtype, recompute, math_sequence);
  std::int64_t bytes = product_of_sizes({layers_in(config, units), layer});
  for (const UnitKind kind : {UnitKind::norm, UnitKind::head}) {
    if (holds(config, units, kind)) bytes = sum_of_sizes({bytes, saved_bytes(config, {kind}, tokens, dtype)});
  }
  return bytes;
}

std::int64_t plan_logits(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype) {
  if (!holds(config, units, UnitKind::head) || loss_dtype(dtype) == dtype) return 0;
  return product_of_sizes({tokens, config.vocab_size, static_cast<std::int64_t>(c10::elementSize(dtype))});
}

std::int64_t plan_recomputed(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                             Recompute recompute, std::int64_t math_sequence) {
  if (recompute == Recompute::none || layers_in(config, units) == 0) return 0;
  std::int64_t beyond = saved_bytes(config, {UnitKind::layer}, tokens, dtype, Recompute::none, math_sequence) -
                        saved_bytes(config, {UnitKind::layer}, tokens, dtype, recompute);
  for (const UnitKind kind : {UnitKind::norm, UnitKind::head}) {
    if (holds(config, units, kind)) beyond -= saved_bytes(config, {kind}, tokens, dtype);
  }
  return std::max<std::int64_t>(beyond, 0);
}

std::int64_t math_sequence(const BatchPlan& batches, std::int64_t microbatch, const std::string& device,
                           c10::ScalarType dtype) {
  return attends_by_flash(device == "cpu", dtype) ? 0 : batches.sequence_length(microbatch);
}

MemoryPlan plan_one_device(const LlamaConfig& config, const BatchPlan& batches, const RunFile& run) {
  const UnitRange all = all_units(config);
  const c10::ScalarType dtype = computed_type(run.train);
  const Recompute recompute = run.train.recompute;
  MemoryPlan plan = plan_state(config, {all}, run.train, copies_state(run));
  for (std::int64_t microbatch = 0; microbatch < batches.microbatches(); ++microbatch) {
    const std::int64_t tokens = batches.padded_tokens(microbatch);
    const std::int64_t rows = math_sequence(batches, microbatch, run.device, dtype);
    const std::int64_t beside =
        std::max(plan_logits(config, all, tokens, dtype), plan_recomputed(config, all, tokens, dtype, recompute, rows));
    plan.activations =
        std::max(plan.activations, sum_of_sizes({plan_saved(config, all, tokens, dtype, recompute, rows), beside}));
  }
  return plan;
}

void require_memory(const MemoryPlan& plan, const std::string& owner) {
  if (plan.total() <= memory_limit()) return;
  throw SystemError("this machine has " + bytes_text(memory_limit()) + " of memory, and the plan for " + owner +
                    " is " + to_text(plan) + "; use a smaller model or batch, or more ranks on more machines");
}

void require_free(const MemoryPlan& plan, std::int64_t free_bytes, const std::string& owner) {
  if (plan.total() <= free_bytes) return;
  throw SystemError(owner + " has " + bytes_text(free_bytes) + " of memory free, and the plan is " + to_text(plan) +
                    "; end what else takes memory there, use a smaller model or batch, keep less of it "
                    "(train.recompute = \"layer\"), or take more machines: plumbline-pipeline RUN.toml --plan shows "
                    "what each number of ranks takes");
}

void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place) {
  if (plan.state() <= free_bytes) return;
  throw SystemError(place + " has " + bytes_text(free_bytes) + " of " + bytes_text(total_bytes) +
                    " free, and the plan for it is " + to_text(plan) +
                    "; end what else uses the GPU (nvidia-smi shows it), or use more ranks");
}

}  // namespace plumbline
