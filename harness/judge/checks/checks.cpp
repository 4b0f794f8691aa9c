#include "harness/judge/checks/checks.hpp"

#include <algorithm>

#include "harness/judge/expected/stage_map.hpp"
#include "harness/judge/limits/within_limits.hpp"

namespace plumbline::judging {
namespace {

std::optional<std::string> no_empty_stage(const CellPlan& plan, const Manifest& candidate) {
  for (const auto& stage : plan.request&& plan.request->stages ? *plan.request->stages : candidate.stages) {
    if (std::none_of(stage.units.begin(), stage.units.end(), is_layer)) return std::nullopt;
  }
  return "every stage of this partition holds a layer";
}

std::optional<std::string> equal_lengths_asked_for(const CellPlan& plan, const Manifest& candidate) {
  const auto microbatches =
      plan.request && plan.request->microbatches ? std::ssize(*plan.request->microbatches) : candidate.microbatches;
  if (microbatches == 1) return "a step has one microbatch: its length cannot vary";
  if (asks_for_equal_lengths(plan)) return "the sweep asks for equal lengths in this cell";
  return std::nullopt;
}

std::optional<std::string> no_repeat_asked_for(const CellPlan& plan, const Manifest&) {
  if (plan.repeat) return std::nullopt;
  return "the sweep repeats other cells, not this one";
}

}  // namespace

std::string value_limit(const CellEvidence& evidence) {
  return evidence.limits ? tier_words(evidence.limits->calibration()) : "0 ULP";
}

std::string agreement(const CellEvidence& evidence) {
  return evidence.limits ? "within their limits" : "the same bits";
}

const std::vector<Check>& all_checks() {
  static const std::vector<Check> checks = {
      {"as_asked", false, false, nullptr, nullptr},
      {"completion", false, false, nullptr, nullptr},
      {"data", false, false, nullptr, data_check},
      {"census", true, false, nullptr, census_check},
      {"loss", false, true, nullptr, loss_check},
      {"boundaries", true, true, nullptr, boundaries_check},
      {"gradients", true, true, nullptr, gradients_check},
      {"nonzero_gradients", true, true, nullptr, nonzero_gradients_check},
      {"gradient_norm", false, true, nullptr, gradient_norm_check},
      {"parameters", true, false, nullptr, parameters_check},
      {"audit", true, false, nullptr, audit_check},
      {"empty_partitions", true, false, no_empty_stage, empty_partitions_check},
      {"variable_lengths", true, false, equal_lengths_asked_for, variable_lengths_check},
      {"memory", false, false, nullptr, memory_check},
      {"conformance", false, false, nullptr, conformance_check},
      {"repeatability", false, false, no_repeat_asked_for, repeatability_check, true},
  };
  return checks;
}

}  // namespace plumbline::judging
