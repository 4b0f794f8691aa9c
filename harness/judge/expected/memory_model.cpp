// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/expected/model.hpp"
#include "record/precision.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"

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

/// Bytes of the computation's copies in mixed precision, in addition to the trained parameters.
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

namespace {

class ActivationLaw {
 public:
  explicit ActivationLaw(const SavedTable& saved) : saved_(saved) {}

  std::int64_t relay(const Action& action, std::int64_t bytes) const {
    return live_ + (action.type == ActionType::backward_weight ? 0 : bytes);
  }

  std::int64_t run(const Action& action, const std::vector<std::string>& units) {
    peak_ = live_;
    if (action.type == ActionType::forward) {
      for (const auto& unit : units) forward(row(action.microbatch, unit));
    } else {
      for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
        backward(action.type, row(action.microbatch, *unit));
    }
    return peak_;
  }

 private:
  void reach(std::int64_t beyond) { peak_ = std::max(peak_, live_ + beyond); }

  void forward(const SavedRow& saved) {
    reach(saved.forward_bytes);
    live_ += saved.saved_bytes;
  }

  void backward(ActionType type, const SavedRow& saved) {
    const bool split = saved.input_bytes && saved.retained_bytes && saved.weight_bytes;
    if (type == ActionType::backward) {
      live_ -= saved.saved_bytes;
      reach(saved.backward_bytes);
    } else if (type == ActionType::backward_input && split) {
      live_ -= saved.saved_bytes;
      reach(*saved.input_bytes);
      live_ += *saved.retained_bytes;
    } else if (type == ActionType::backward_input) {  // saved tensors stay until W: an upper bound
      reach(saved.backward_bytes);
    } else if (split) {
      live_ -= *saved.retained_bytes;
      reach(*saved.weight_bytes);
    } else {
      live_ -= saved.saved_bytes;
      reach(saved.backward_bytes);
    }
  }

  const SavedRow& row(std::int64_t microbatch, const std::string& unit) const {
    const auto found = saved_.find({microbatch, unit});
    if (found == saved_.end()) {
      throw InputError(
          fmt::format("the reference's saved.csv lacks a row for microbatch {}, unit {}, so the activation memory "
                      "model cannot be applied",
                      microbatch, unit));
    }
    return found->second;
  }

  const SavedTable& saved_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;  ///< of the action
};

}  // namespace

std::vector<std::int64_t> predict_peaks(const ActionList& list, const StageMap& stages, const SavedTable& saved,
                                        const std::vector<std::int64_t>& boundary_bytes) {
  ActivationLaw law(saved);
  std::vector<std::int64_t> peaks;
  for (const auto& action : list) {
    if (!is_compute(action.type)) continue;
    const StageEntry* stage = stages.find(action.stage);
    if (!stage)
      throw InputError(fmt::format("schedule.csv: the manifest does not list the stage of {}", to_text(action)));
    const auto microbatch = static_cast<std::size_t>(action.microbatch);
    if (microbatch >= boundary_bytes.size()) {
      throw InputError(
          fmt::format("schedule.csv: {} names a microbatch that microbatches.csv does not have", to_text(action)));
    }
    peaks.push_back(stage->units.empty() ? law.relay(action, boundary_bytes[microbatch])
                                         : law.run(action, stage->units));
  }
  return peaks;
}

}  // namespace plumbline::judging
