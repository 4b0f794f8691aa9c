#include "training/memory_plan.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "support/machine_memory.hpp"

namespace plumbline {

std::string to_text(const MemoryPlan& plan) {
  return "at least " + bytes_text(plan.total()) + ": parameters " + bytes_text(plan.parameters) + ", gradients " +
         bytes_text(plan.gradients) + ", optimiser " + bytes_text(plan.optimizer) + ", activations " +
         bytes_text(plan.activations);
}

namespace {

/// Bytes of all parameters of one unit; "layers.0" stands for every layer, for all are alike.
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

std::int64_t layers_in(const LlamaConfig& config, UnitRange units) {
  return std::max<std::int64_t>(0, std::min(units.end, config.layers + 1) - std::max<std::int64_t>(units.first, 1));
}

bool holds(UnitRange units, std::int64_t unit) {
  return unit >= units.first && unit < units.end;
}

}  // namespace

std::int64_t MemoryPlan::state() const {
  return sum_of_sizes({parameters, gradients, optimizer});
}

std::int64_t MemoryPlan::total() const {
  return sum_of_sizes({state(), activations});
}

MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, c10::ScalarType dtype,
                      const OptimizerSettings& optimizer) {
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t moments = optimizer.name == "adamw" ? 2 : optimizer.momentum != 0 ? 1 : 0;
  MemoryPlan plan;
  const auto add = [&](const std::string& unit, std::int64_t times, bool alias = false) {
    const std::int64_t bytes = product_of_sizes({times, unit_bytes(config, unit, element)});
    plan.gradients = sum_of_sizes({plan.gradients, bytes});
    // a tied head beside its embedding has a gradient of its own and nothing else
    if (alias) return;
    plan.parameters = sum_of_sizes({plan.parameters, bytes});
    plan.optimizer = sum_of_sizes({plan.optimizer, product_of_sizes({moments, bytes})});
  };
  for (const UnitRange range : units) {
    if (holds(range, 0)) add("embed_tokens", 1);
    add("layers.0", layers_in(config, range));
    if (holds(range, config.layers + 1)) add("norm", 1);
    if (holds(range, config.layers + 2)) add("lm_head", 1, config.tied && range.first == 0);
  }
  return plan;
}

std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype) {
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t kv = config.kv_heads * config.head_dim;
  const std::int64_t layers = layers_in(config, units);
  const std::int64_t values = sum_of_sizes({product_of_sizes({8, config.hidden_size}), product_of_sizes({2, kv}),
                                            product_of_sizes({4, config.intermediate_size})});
  // The embedding, unit 0, keeps the ids, which are data.
  std::int64_t bytes = sum_of_sizes(
      {product_of_sizes({layers, tokens, element, values}), product_of_sizes({layers, tokens, 4, config.heads + 2})});
  if (holds(units, config.layers + 1)) {
    bytes = sum_of_sizes({bytes, product_of_sizes({tokens, element, 2 * config.hidden_size + 1})});
  }
  if (holds(units, config.layers + 2)) {
    bytes = sum_of_sizes({bytes, product_of_sizes({tokens, element, config.vocab_size + config.hidden_size}), 4});
  }
  return bytes;
}

void require_memory(const MemoryPlan& plan, const std::string& who) {
  if (plan.total() <= memory_limit()) return;
  throw SystemError(who + " has " + bytes_text(memory_limit()) + " of memory, and the plan for it is " + to_text(plan) +
                    "; use a smaller model or batch, or more ranks on more machines");
}

void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place) {
  if (plan.state() <= free_bytes) return;
  throw SystemError(place + " has " + bytes_text(free_bytes) + " of " + bytes_text(total_bytes) +
                    " free, and the plan for it is " + to_text(plan) +
                    "; end what else uses the GPU (nvidia-smi shows it), or use more ranks");
}

}  // namespace plumbline
