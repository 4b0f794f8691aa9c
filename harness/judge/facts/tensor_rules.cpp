// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/tensor_rules.hpp"

#include <algorithm>
#include <iterator>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/hints/advice.hpp"
#include "record/precision.hpp"

namespace plumbline::judging {

bool is_unchanged(const StepEvidence& now, const std::string& parameter) {
  const auto& after = now.reference_rows.tensors("parameter", parameter);
  const auto& before = now.reference_rows_before.tensors("parameter", parameter);
  return !after.empty() && !before.empty() && after.front().row->digest == before.front().row->digest;
}

bool moments_vary(const Manifest& manifest) {
  const Json& optimizer = manifest.json.at("optimizer");
  const std::string name = optimizer.value("name", "");
  return (name != "adamw" && name != "sgd") || optimizer.contains("groups");
}

std::string why_no_such_tensor(const StepEvidence& now, const Fact& fact, bool of_reference) {
  const std::string name(fact.name), kind(rules_of(fact.column).name);
  if (fact.column == Column::buffer) return "the reference does not have this buffer";
  const auto kinds = state_kinds(now);
  const bool of_state = fact.column >= Column::parameter && fact.column <= Column::moment2;
  if (of_state && std::ranges::find(kinds, kind) == kinds.end())
    return fact.column == Column::copy ? "only mixed precision has copies" : "the optimizer does not have this moment";
  if (of_reference) return "not a parameter of this model" + advice(now.cell.reference.manifest, Advice::names);
  return "a row that the partition does not imply, or a duplicate";
}

bool unused(const StepEvidence& now, const std::string& parameter) {
  if (now.step < 0 || !is_optional(now.cell.reference, "gradients") || !is_unchanged(now, parameter)) return false;
  return now.reference_rows.tensors("gradient", parameter).empty() &&
         now.candidate_rows.tensors("gradient", parameter).empty();
}

const char* const no_gradient_compared =
    "no gradient was compared, because neither record has any. If gradients are not in .grad, give "
    "gradient_of= "
    "(and master_of=) to watch_model, watch_stage or watch_pipelining";

bool without_gradients(const StepEvidence& now) {
  const CellEvidence& evidence = now.cell;
  if (!is_optional(evidence.reference, "gradients") || !is_optional(evidence.candidate, "gradients")) return false;
  if (evidence.model.parameters.size() <= evidence.reference.manifest.frozen.size()) return false;
  const auto none = [](const RecordIndex& rows) {
    return std::ranges::none_of(rows.all_tensors(), [](const auto& placed) { return placed.row->kind == "gradient"; });
  };
  return none(now.reference_rows) && none(now.candidate_rows);
}

std::vector<std::string> parameter_kinds(const StepEvidence& now) {
  if (now.cell.reference.manifest.dtype == mixed_precision) return {"parameter", "copy"};
  return {"parameter"};
}

std::vector<std::string> moment_kinds(const StepEvidence& now) {
  const Json& optimizer = now.cell.reference.manifest.json.at("optimizer");
  const std::string name = optimizer.value("name", "");
  if (name == "adamw") return {"moment1", "moment2"};
  if (name == "sgd")
    return optimizer.value("momentum", 0.0) != 0.0 ? std::vector<std::string>{"moment1"} : std::vector<std::string>{};
  std::vector<std::string> kinds;
  for (const std::string kind : {"moment1", "moment2"}) {
    if (std::ranges::any_of(now.reference_rows.all_tensors(),
                            [&](const auto& placed) { return placed.row->kind == kind; }))
      kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string> state_kinds(const StepEvidence& now) {
  auto kinds = parameter_kinds(now);
  std::ranges::copy(moment_kinds(now), std::back_inserter(kinds));
  return kinds;
}

}  // namespace plumbline::judging
