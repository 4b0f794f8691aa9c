// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_plan.hpp"

#include <algorithm>
#include <array>

#include "model/parameter_shapes.hpp"
#include "model/saved_bytes.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "training/environment.hpp"
#include "training/run.hpp"

namespace plumbline {

std::string to_text(const MemoryPlan& plan) {
  return "at least " + bytes_text(plan.total()) + ": parameters " + bytes_text(plan.parameters) + ", gradients " +
         bytes_text(plan.gradients) + ", optimizer " + bytes_text(plan.optimizer) + ", activations " +
         bytes_text(plan.activations) + (plan.communicators == 0 ? "" : ", NCCL " + bytes_text(plan.communicators)) +
         (plan.dump == 0 ? "" : ", copies for the dump after them " + bytes_text(plan.dump)) +
         (plan.checkpoint == 0 ? "" : ", copy for checkpoints " + bytes_text(plan.checkpoint));
}

namespace {

constexpr std::array unit_kinds{UnitKind::embedding, UnitKind::layer, UnitKind::norm, UnitKind::head};

/// Bytes of all parameters of a unit of this kind: all layers are equal.
std::int64_t unit_bytes(LlamaConfig config, UnitKind kind, std::int64_t element) {
  config.layers = 1;
  const std::vector<std::string> units = unit_names(config);
  std::int64_t number = 0;
  while (unit_at(config, number).kind != kind) ++number;
  const std::string& unit = units[static_cast<std::size_t>(number)];
  std::int64_t bytes = 0;
  for (const ParameterShape& parameter : parameter_shapes(config)) {
    if (parameter.unit != unit) continue;
    std::int64_t size = element;
    for (const std::int64_t dimension : parameter.shape) size = product_of_sizes({size, dimension});
    bytes = sum_of_sizes({bytes, size});
  }
  return bytes;
}

/// Elements of the largest weight of a unit or half of this kind.
std::int64_t largest_weight(const LlamaConfig& config, UnitKind kind) {
  const std::int64_t attention = kind == UnitKind::mlp ? 0 : config.attention_width();
  const std::int64_t mlp = kind == UnitKind::attention ? 0 : config.intermediate_size;
  const bool layer = kind == UnitKind::layer || kind == UnitKind::attention || kind == UnitKind::mlp;
  return product_of_sizes({config.hidden_size, layer ? std::max(attention, mlp) : config.vocab_size});
}

/// The parts of a layer that are recomputed or not, in the order of the backward pass.
std::vector<UnitKind> parts_of_layer(Recompute recompute) {
  if (recompute == Recompute::layer) return {UnitKind::layer};
  return {UnitKind::mlp, UnitKind::attention};
}

}  // namespace

std::int64_t MemoryPlan::state() const {
  return sum_of_sizes({parameters, gradients, optimizer, communicators});
}

std::int64_t MemoryPlan::total() const {
  return sum_of_sizes({state(), std::max(activations, dump), checkpoint});
}

MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, const TrainSettings& train,
                      bool copied, bool dumped) {
  const OptimizerSettings& optimizer = train.optimizer;
  const auto element = static_cast<std::int64_t>(c10::elementSize(trained_type(train)));
  const auto rounded = is_mixed(train) ? static_cast<std::int64_t>(c10::elementSize(computed_type(train))) : 0;
  const std::int64_t moments = optimizer.name == "adamw" ? 2 : optimizer.momentum != 0 ? 1 : 0;
  MemoryPlan plan;
  const auto add = [&](UnitKind kind, std::int64_t times, bool alias) {
    const std::int64_t bytes = product_of_sizes({times, unit_bytes(config, kind, element)});
    plan.gradients = sum_of_sizes({plan.gradients, bytes});
    // a tied head with its embedding adds only a gradient
    if (alias) return;
    plan.parameters = sum_of_sizes({plan.parameters, bytes, product_of_sizes({bytes / element, rounded})});
    plan.optimizer = sum_of_sizes({plan.optimizer, product_of_sizes({moments, bytes})});
    if (copied) plan.checkpoint = sum_of_sizes({plan.checkpoint, product_of_sizes({1 + moments, bytes})});
  };
  for (const UnitRange range : units) {
    for (const UnitKind kind : unit_kinds) {
      const std::int64_t times = count(config, range, kind);
      const bool alias = kind == UnitKind::head && config.tied && holds(config, range, UnitKind::embedding);
      if (times == 0) continue;
      add(kind, times, alias);
      if (!dumped) continue;
      // value, gradient and moments, also of an alias; rounded copies
      const std::int64_t copies = product_of_sizes({times, 2 + moments, unit_bytes(config, kind, element)});
      plan.dump = sum_of_sizes({plan.dump, copies, product_of_sizes({times, unit_bytes(config, kind, rounded)})});
    }
  }
  return plan;
}

MemoryPlan plan_state(const Run& run, const std::vector<UnitRange>& units) {
  // On a GPU the copy is in host memory, which this plan is not about.
  const bool copied = run.checkpoint.background && run.device.is_cpu();
  return plan_state(run.config, units, run.train, copied, run.record_level == RecordLevel::dump);
}

std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype,
                        Recompute recompute, std::int64_t math_sequence) {
  std::int64_t bytes = 0;
  for (const UnitKind kind : unit_kinds) {
    const std::int64_t times = count(config, units, kind);
    const std::int64_t each = saved_bytes(config, {kind}, tokens, dtype, recompute, math_sequence);
    bytes = sum_of_sizes({bytes, product_of_sizes({times, each})});
  }
  return bytes;
}

std::int64_t plan_backward(const LlamaConfig& config, UnitRange units, std::int64_t tokens, const TrainSettings& train,
                           std::int64_t math_sequence) {
  const c10::ScalarType dtype = computed_type(train);
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t widened = is_mixed(train) ? static_cast<std::int64_t>(c10::elementSize(trained_type(train))) : 0;
  std::int64_t released = 0, most = 0;
  /// A unit's largest gradient, while its node holds `own` bytes and, in mixed precision, while it is
  /// widened after that.
  const auto add = [&](UnitKind kind, std::int64_t own, std::int64_t kept = 0) {
    const std::int64_t size = largest_weight(config, kind);
    most = std::max(most, sum_of_sizes({kept, own, product_of_sizes({size, element})}) - released);
    if (widened > 0)
      most = std::max(most, sum_of_sizes({kept, product_of_sizes({size, element + widened})}) - released);
  };
  if (holds(config, units, UnitKind::head)) {
    released = product_of_sizes({tokens, config.vocab_size, element});  // the logits' gradient, before a widening
    add(UnitKind::head, released);
    released = saved_bytes(config, {UnitKind::head}, tokens, dtype);
  }
  if (holds(config, units, UnitKind::norm)) released += saved_bytes(config, {UnitKind::norm}, tokens, dtype);
  if (holds(config, units, UnitKind::layer)) {
    for (const UnitKind kind : parts_of_layer(train.recompute)) {
      const std::int64_t kept = saved_bytes(config, {kind}, tokens, dtype, train.recompute, math_sequence);
      const std::int64_t all = saved_bytes(config, {kind}, tokens, dtype, Recompute::none, math_sequence);
      add(kind, 0, all - kept);
      released += kept;
    }
  }
  if (holds(config, units, UnitKind::embedding)) {
    released = plan_saved(config, units, tokens, dtype, train.recompute, math_sequence);
    add(UnitKind::embedding, product_of_sizes({tokens, config.hidden_size, element}));
  }
  return most;
}

std::int64_t math_sequence(const BatchPlan& batches, std::int64_t microbatch, c10::Device device,
                           c10::ScalarType dtype) {
  return attends_by_flash(device.is_cpu(), dtype) ? 0 : batches.sequence_length(microbatch);
}

MemoryPlan plan_one_device(const Run& run) {
  const LlamaConfig& config = run.config;
  const TrainSettings& train = run.train;
  const UnitRange all = all_units(config);
  const c10::ScalarType dtype = computed_type(train);
  MemoryPlan plan = plan_state(run, {all});
  for (std::int64_t microbatch = 0; microbatch < run.batches.microbatches(); ++microbatch) {
    const std::int64_t tokens = run.batches.padded_tokens(microbatch);
    const std::int64_t rows = math_sequence(run.batches, microbatch, run.device, dtype);
    const std::int64_t saved = plan_saved(config, all, tokens, dtype, train.recompute, rows);
    const std::int64_t backward = plan_backward(config, all, tokens, train, rows);
    plan.activations = std::max(plan.activations, sum_of_sizes({saved, backward}));
  }
  return plan;
}

void require_free(const MemoryPlan& plan, std::int64_t free_bytes, const std::string& owner) {
  if (plan.total() <= free_bytes) return;
  throw SystemError(owner + " has " + bytes_text(free_bytes) + " of memory free, and the plan is " + to_text(plan) +
                    "; end other processes there, use a smaller model or batch, keep less of it "
                    "(train.recompute = \"layer\"), or use more machines: plumbline-pipeline RUN.toml --check shows "
                    "what each number of ranks takes");
}

void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place) {
  if (plan.state() <= free_bytes) return;
  throw SystemError(place + " has " + bytes_text(free_bytes) + " of " + bytes_text(total_bytes) +
                    " free, and the plan for it is " + to_text(plan) +
                    "; end other processes on the GPU (nvidia-smi lists them), or use more ranks");
}

}  // namespace plumbline
