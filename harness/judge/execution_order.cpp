// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/execution_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plumbline::judging {

ExecutionPoint point_of(const StepEvidence& now, const Fact& fact) {
  const ExpectedModel& model = now.cell.model;
  const std::string name(fact.name);
  const std::int64_t microbatch = std::max<std::int64_t>(fact.microbatch, 0);
  switch (fact.column) {
    case Column::ids:
    case Column::sizes:
      return at_data(now.step, microbatch);
    case Column::forward:
    case Column::backward:
      return at_boundary(now.step, microbatch, std::string(rules_of(fact.column).name),
                         model.unit_position(name).value_or(0),
                         fact.place.side == "receive" ? BoundaryEnd::received : BoundaryEnd::sent);
    case Column::loss:
      return at_loss(now.step, microbatch);
    case Column::step_loss:
      return at_step_loss(now.step);
    case Column::norm:
      return at_norm(now.step);
    case Column::coefficient:
      return at_norm(now.step, NormPart::clip_coefficient);
    case Column::updated:
    case Column::rate:
      return at_learning_rate(now.step);
    case Column::rate_of_parameter:
      return in_step(now.step, StepPhase::learning_rate, model.parameter_position(name).value_or(0));
    case Column::evaluation: {
      const auto& plan = now.cell.reference.manifest.evaluation;
      return at_evaluation(now.step, fact.microbatch < 0 && plan ? plan->microbatches : microbatch);
    }
    default:
      break;
  }
  const std::string kind(rules_of(fact.column).name);
  return tensor_point(now.step, kind, position_of(model, now.cell.candidate.manifest, kind, name),
                      std::max<std::int64_t>(fact.place.stage, 0));
}

ExecutionPoint tensor_point(std::int64_t step, const std::string& kind, std::int64_t position, std::int64_t stage) {
  if (kind == "gradient") return at_gradient(step, position, stage);
  if (kind == "applied") return in_step(step, StepPhase::applied, position, 0, stage);
  const StateKind state = kind == "parameter" ? StateKind::parameter
                          : kind == "copy"    ? StateKind::copy
                          : kind == "moment1" ? StateKind::moment1
                          : kind == "moment2" ? StateKind::moment2
                                              : StateKind::buffer;
  return at_parameter(step, position, state, stage);
}

std::int64_t gradient_position(const ExpectedModel& model, const Manifest& candidate, std::size_t parameter) {
  const auto& parameters = model.parameters;
  // A tied weight has one gradient: the embedding's.
  for (const auto& names : candidate.tied) {
    if (std::ranges::find(names, parameters[parameter].name) == names.end()) continue;
    for (const auto& name : names) {
      const auto other = model.parameter_position(name);
      if (other) parameter = std::min(parameter, static_cast<std::size_t>(*other));
    }
  }
  // In the order of computation, which differs from the order of a Llama's names: norms are listed after what they
  // precede.
  static const std::vector<std::string> of_layer = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                                    "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                                    "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
  constexpr std::int64_t apart = 32;  // more than the kinds of parameters in a layer
  const std::string& unit = parameters[parameter].unit;
  if (!model.has_sizes() || !is_layer(unit)) return apart * static_cast<std::int64_t>(parameter);
  std::size_t first = parameter;
  while (first > 0 && parameters[first - 1].unit == unit) --first;
  const auto found = std::ranges::find_if(of_layer, [&](const std::string& name) {
    return parameters[parameter].name.find(fmt::format(".{}.", name)) != std::string::npos;
  });
  return apart * static_cast<std::int64_t>(first) + (found - of_layer.begin());
}

std::int64_t position_of(const ExpectedModel& model, const Manifest& candidate, const std::string& kind,
                         const std::string& parameter) {
  const auto place = model.parameter_position(parameter);
  if (!place || kind != "gradient") return place.value_or(0);
  return gradient_position(model, candidate, static_cast<std::size_t>(*place));
}

}  // namespace plumbline::judging
