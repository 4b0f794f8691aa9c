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
      {"data", false, false, nullptr, check_data},
      {"census", true, false, nullptr, check_census},
      {"loss", false, true, nullptr, check_loss},
      {"boundaries", true, true, nullptr, check_boundaries},
      {"gradients", true, true, nullptr, check_gradients},
      {"nonzero_gradients", true, true, nullptr, check_nonzero_gradients},
      {"gradient_norm", false, true, nullptr, check_gradient_norm},
      {"parameters", true, false, nullptr, check_parameters},
      {"audit", true, false, nullptr, check_audit},
      {"empty_partitions", true, false, no_empty_stage, check_empty_partitions},
      {"variable_lengths", true, false, equal_lengths_asked_for, check_variable_lengths},
      {"memory", false, false, nullptr, check_memory},
      {"conformance", false, false, nullptr, check_conformance},
      {"repeatability", false, false, no_repeat_asked_for, check_repeatability},
  };
  return checks;
}

}  // namespace plumbline::judging
