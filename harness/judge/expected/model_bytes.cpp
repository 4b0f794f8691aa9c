// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/model_bytes.hpp"

#include <algorithm>

#include "harness/judge/expected/stage_map.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

/// Bytes per parameter of an external optimiser's step count: at most a scalar of 64 bits.
constexpr std::int64_t most_step_count_bytes = 8;
/// LibTorch's fused AdamW counts steps in one float32 scalar per parameter.
constexpr std::int64_t step_count_bytes = 4;
/// Flash attention on a GPU saves three numbers of 64 bits for dropout, also without dropout.
constexpr std::int64_t dropout_generator_bytes = 24;

std::optional<std::int64_t> moment_bytes(const Json& optimizer, std::int64_t parameter_bytes) {
  const std::string name = optimizer.value("name", "");
  if (name == "adamw") return 2 * parameter_bytes;
  if (name == "sgd") return optimizer.value("momentum", 0.0) != 0.0 ? parameter_bytes : 0;
  return std::nullopt;
}

std::optional<std::int64_t> optimizer_bytes(const Json& optimizer, std::int64_t parameter_bytes) {
  const auto moments = moment_bytes(optimizer, parameter_bytes);
  if (!moments) return std::nullopt;
  return *moments + (optimizer.value("name", "") == "adamw" ? step_count_bytes : 0);
}

/// Bytes of all uses of tied weights except the first of each.
std::int64_t bytes_of_second_uses(const ExpectedModel& model, const Manifest& manifest) {
  const auto size = static_cast<std::int64_t>(dtype_size(trained_dtype(manifest.dtype)));
  if (model.llama) return model.tied ? model.vocabulary * model.hidden * size : 0;
  std::int64_t bytes = 0;
  for (const auto& names : manifest.tied) {
    for (const auto& parameter : model.parameters) {
      if (parameter.name != names.front() && std::ranges::find(names, parameter.name) != names.end())
        bytes += element_count(parameter.shape) * static_cast<std::int64_t>(dtype_size(parameter.dtype));
    }
  }
  return bytes;
}

/// Bytes of the computation's copies in mixed precision, besides the trained parameters.
std::int64_t copy_bytes(const Manifest& manifest, std::int64_t elements) {
  if (manifest.dtype != mixed_precision) return 0;
  return elements * static_cast<std::int64_t>(dtype_size(computed_dtype(manifest.dtype)));
}

bool holds(const std::vector<std::string>& units, const std::string& unit) {
  return std::ranges::find(units, unit) != units.end();
}

/// True if a weight exists under two names on these units or, in an unknown model, may.
bool is_second_use(const ExpectedModel& model, const Manifest& manifest, const std::vector<std::string>& units,
                   const std::string& name) {
  if (model.llama) return model.tied && name == "lm_head.weight" && holds(units, "embed_tokens");
  return std::ranges::any_of(manifest.tied, [&](const auto& names) {
    return name != names.front() && std::ranges::find(names, name) != names.end();
  });
}

}  // namespace

std::optional<StateBytes> state_bytes(const ExpectedModel& model, const std::vector<std::string>& units,
                                      const Manifest& manifest) {
  const auto size = static_cast<std::int64_t>(dtype_size(trained_dtype(manifest.dtype)));
  const bool alias = model.tied && holds(units, "embed_tokens") && holds(units, "lm_head");
  StateBytes sum;
  for (const auto& parameter : model.parameters) {
    if (!holds(units, parameter.unit)) continue;
    const auto bytes = element_count(parameter.shape) * size;
    const bool frozen = is_frozen(manifest, parameter.name);
    if (!frozen) sum.gradients += bytes;
    if (alias && parameter.name == "lm_head.weight") continue;
    sum.parameters += bytes + copy_bytes(manifest, element_count(parameter.shape));
    if (frozen) continue;
    const auto state = optimizer_bytes(manifest.json.at("optimizer"), bytes);
    if (!state) return std::nullopt;
    sum.optimizer += *state;
  }
  return sum;
}

std::optional<StateBytes> tied_copy_bytes(const ExpectedModel& model, const Manifest& manifest) {
  const auto bytes =
      model.vocabulary * model.hidden * static_cast<std::int64_t>(dtype_size(trained_dtype(manifest.dtype)));
  const auto state = optimizer_bytes(manifest.json.at("optimizer"), bytes);
  if (!state) return std::nullopt;
  return StateBytes{bytes + copy_bytes(manifest, model.vocabulary * model.hidden), 0, *state};
}

StateRange& StateRange::operator+=(const StateRange& other) {
  for (const auto column : {&StateBytes::parameters, &StateBytes::gradients, &StateBytes::optimizer}) {
    least.*column += other.least.*column;
    most.*column += other.most.*column;
  }
  optimizer_known = optimizer_known && other.optimizer_known;
  return *this;
}

StateRange state_range(const ExpectedModel& model, const std::vector<std::string>& units, const Manifest& manifest) {
  StateRange range;
  if (manifest.traits.own_bytes) {
    if (const auto bytes = state_bytes(model, units, manifest)) return {*bytes, *bytes, true};
  }
  const auto size = static_cast<std::int64_t>(dtype_size(trained_dtype(manifest.dtype)));
  for (const auto& parameter : model.parameters) {
    if (!holds(units, parameter.unit)) continue;
    const bool alias = is_second_use(model, manifest, units, parameter.name);
    const auto own_size = static_cast<std::int64_t>(dtype_size(parameter.dtype));
    const auto bytes = element_count(parameter.shape) * (parameter.dtype.empty() ? size : own_size);
    range.most.parameters += bytes + copy_bytes(manifest, element_count(parameter.shape));
    if (!alias) range.least.parameters += bytes;
    if (is_frozen(manifest, parameter.name)) continue;
    range.most.gradients += bytes;
    if (!alias) range.least.gradients += bytes;
    const auto moments = moment_bytes(manifest.json.at("optimizer"), bytes);
    range.optimizer_known = range.optimizer_known && moments;
    range.most.optimizer += moments.value_or(0) + most_step_count_bytes;
    if (!alias) range.least.optimizer += moments.value_or(0);
  }
  return range;
}

StateRange beyond_one_device(const ExpectedModel& model, bool apart, const Manifest& reference,
                             const Manifest& candidate) {
  StateRange range;
  const Json& optimizer = candidate.json.at("optimizer");
  const auto copy = apart ? tied_copy_bytes(model, candidate) : StateBytes{};
  if (reference.traits.own_bytes && candidate.traits.own_bytes) {
    range.optimizer_known = copy.has_value();
    range.least = range.most = copy.value_or(StateBytes{});
    return range;
  }
  const auto tied = bytes_of_second_uses(model, candidate);
  const auto moments = moment_bytes(optimizer, tied);
  const auto counts = most_step_count_bytes * (static_cast<std::int64_t>(model.parameters.size()) + 1);
  range.optimizer_known = moments.has_value();
  range.most = {tied, tied, moments.value_or(0) + counts};
  range.least = {-range.most.parameters, -range.most.gradients, -range.most.optimizer};
  return range;
}

AttentionKernel attention_kernel(const Manifest& manifest) {
  const bool on_cpu = manifest.device == "cpu";
  const Json environment = manifest.json.value("environment", Json());
  const Json named = environment.is_object() ? environment.value("attention", Json()) : Json();  // of any JSON type
  if (named == "math") return AttentionKernel::math;
  if (on_cpu) return AttentionKernel::cpu_flash;
  return named == "flash" ? AttentionKernel::gpu_flash : AttentionKernel::unknown;
}

bool recomputes_attention(const std::string& recompute) {
  return recompute == "layer" || recompute == "attention";
}

std::string why_no_layer_form(const ExpectedModel& model, AttentionKernel kernel) {
  if (kernel == AttentionKernel::unknown) return "manifest.json does not name the attention kernel";
  if (kernel == AttentionKernel::gpu_flash && model.head_dim % 8 != 0)
    return "flash attention on a GPU pads heads of " + std::to_string(model.head_dim);
  return "";
}

std::optional<std::int64_t> saved_bytes(const ExpectedModel& model, const std::string& unit,
                                        const MicrobatchShape& shape, const std::string& dtype, AttentionKernel kernel,
                                        const std::string& recompute) {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype)), wide = std::max<std::int64_t>(size, 4);
  const auto hidden = model.hidden, width = model.heads * model.head_dim, key = model.kv_heads * model.head_dim;
  const auto tokens = shape.batch * shape.sequence;
  const auto norm = tokens * (wide * (hidden + 1) + size * hidden);
  if (unit == "embed_tokens") return 0;
  if (unit == "norm") return norm;
  if (unit == "lm_head") return tokens * (size * hidden + wide * model.vocabulary) + wide;
  if (!is_layer(unit)) return std::nullopt;
  const auto input = size * tokens * hidden;
  if (recompute == "layer") return input;
  std::int64_t attention = 0, mlp = 0;
  if (!unit.ends_with(".mlp") && recompute == "attention") {
    attention = input;
  } else if (!unit.ends_with(".mlp")) {
    if (!why_no_layer_form(model, kernel).empty()) return std::nullopt;
    attention = size * tokens * (2 * width + 2 * key) + wide * tokens * model.heads;
    if (kernel == AttentionKernel::gpu_flash) attention += dropout_generator_bytes;
    if (kernel == AttentionKernel::math) attention = size * tokens * (4 * width + model.heads * shape.sequence);
    attention += norm + input;
  }
  if (!unit.ends_with(".attention"))
    mlp = recompute == "mlp" ? input : norm + input + 4 * size * tokens * model.intermediate;
  return attention + mlp;
}

}  // namespace plumbline::judging
