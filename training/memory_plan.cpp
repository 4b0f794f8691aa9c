#include "training/memory_plan.hpp"

#include <array>
#include <cstdio>

#include "support/error.hpp"

namespace plumbline {

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string to_text(const MemoryPlan& plan) {
  return "at least " + bytes_text(plan.total()) + ": parameters " + bytes_text(plan.parameters) + ", gradients " +
         bytes_text(plan.gradients) + ", optimiser " + bytes_text(plan.optimizer) + ", activations " +
         bytes_text(plan.activations);
}

MemoryPlan plan_state(const LlamaConfig& config, const std::vector<UnitRange>& units, c10::ScalarType dtype,
                      const OptimizerSettings& optimizer) {
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t moments = optimizer.name == "adamw" ? 2 : optimizer.momentum != 0 ? 1 : 0;
  const std::vector<std::string> names = unit_names(config);
  MemoryPlan plan;
  for (const UnitRange range : units) {
    for (std::int64_t unit = range.first; unit < range.end; ++unit) {
      for (const ParameterShape& shape : parameter_shapes(config)) {
        if (shape.unit != names[static_cast<std::size_t>(unit)]) continue;
        std::int64_t bytes = element;
        for (const std::int64_t size : shape.shape) bytes *= size;
        plan.gradients += bytes;
        // a tied head beside its embedding has a gradient of its own and nothing else
        if (config.tied && shape.name == "lm_head.weight" && range.first == 0) continue;
        plan.parameters += bytes;
        plan.optimizer += moments * bytes;
      }
    }
  }
  return plan;
}

std::int64_t plan_saved(const LlamaConfig& config, UnitRange units, std::int64_t tokens, c10::ScalarType dtype) {
  const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t kv = config.kv_heads * config.head_dim;
  std::int64_t bytes = 0;
  for (std::int64_t unit = units.first; unit < units.end; ++unit) {
    if (unit == 0) continue;  // the embedding keeps the ids, which are data
    if (unit <= config.layers) {
      bytes += tokens * element * (8 * config.hidden_size + 2 * kv + 4 * config.intermediate_size) +
               tokens * 4 * (config.heads + 2);
    } else if (unit == config.layers + 1) {
      bytes += tokens * element * (2 * config.hidden_size + 1);
    } else {
      bytes += tokens * element * (config.vocab_size + config.hidden_size) + 4;
    }
  }
  return bytes;
}

void check_fits(const MemoryPlan& plan, std::int64_t free_bytes, std::int64_t total_bytes, const std::string& place) {
  if (plan.state() <= free_bytes) return;
  throw SystemError(place + " has " + bytes_text(free_bytes) + " of " + bytes_text(total_bytes) +
                    " free, and the plan for it is " + to_text(plan) +
                    "; end what else uses the GPU (nvidia-smi shows it), or use more ranks");
}

}  // namespace plumbline
