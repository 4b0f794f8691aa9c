// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/model_bytes.hpp"

#include <algorithm>

#include "harness/judge/expected/stage_map.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"

namespace plumbline::judging {
namespace {

/// Bytes per parameter of an external optimizer's step count: at most a scalar of 64 bits.
constexpr std::int64_t most_step_count_bytes = 8;
/// LibTorch's fused AdamW counts steps in one float32 scalar per parameter.
constexpr std::int64_t step_count_bytes = 4;

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
  if (model.has_sizes()) return model.tied && name == "lm_head.weight" && holds(units, "embed_tokens");
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
  if (manifest.conventions.exact_bytes) {
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

}  // namespace plumbline::judging
