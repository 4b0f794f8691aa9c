// SPDX-License-Identifier: BSD-3-Clause
// Tensors of parameters: each is on every stage that has its unit. Buffers: wherever the candidate has them.
#include <algorithm>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/facts/expected.hpp"
#include "harness/judge/facts/recorded.hpp"
#include "harness/judge/facts/tensor_rules.hpp"

namespace plumbline::judging {
namespace {

class ExpectedTensors {
 public:
  ExpectedTensors(const StepEvidence& now, Column column) : now_(now), column_(column), kind_(rules_of(column).name) {}

  void add(const ExpectedParameter& parameter, Expectations& expected) const {
    Expected fact{{.column = column_, .name = parameter.name}};
    const FactSpan theirs = with_key(now_.facts.reference, fact);
    if (!theirs.empty())
      fact.value = theirs.front().value;
    else if (is_of_no_update(parameter))
      return;
    const bool excused_here = was_not_applied() || excused(now_.cell.reference, rules_of(column_).kind, now_.step);
    fact.value_optional = theirs.empty() && excused_here;
    fact.if_either = was_not_applied() || (theirs.empty() && (excused_here || may_be_in_neither(parameter)));
    bool held = false;
    for (const StageEntry& stage : now_.cell.stages.stages) {
      if (std::ranges::find(stage.units, parameter.unit) == stage.units.end()) continue;
      held = true;
      fact.place = {stage.rank, stage.stage};
      expected.push_back(fact);
    }
    fact.place = {};
    if (!held) expected.push_back(fact);  // nowhere, so that it is found missing
  }

 private:
  /// A parameter that is frozen, or that the optimizer may update itself instead of a master.
  bool is_of_no_update(const ExpectedParameter& parameter) const {
    if (column_ == Column::copy) return is_optional(now_.cell.reference, "copies");
    return column_ != Column::parameter && is_frozen(now_.cell.reference.manifest, parameter.name);
  }

  bool may_be_in_neither(const ExpectedParameter& parameter) const {
    if (column_ == Column::parameter) return false;
    if (unused(now_, parameter.name)) return true;
    return is_moment() && (moments_vary(now_.cell.reference.manifest) || not_yet_updated(parameter.name));
  }

  bool is_moment() const { return column_ == Column::moment1 || column_ == Column::moment2; }

  /// Gradients of several steps are summed for one update, and none has been made so far.
  bool not_yet_updated(const std::string& parameter) const {
    return is_optional(now_.cell.reference, "moments") && is_unchanged(now_, parameter) &&
           now_.reference_rows_before.tensors(std::string(kind_), parameter).empty();
  }

  /// In a step that both runs skipped, gradients are not applied and may be missing.
  bool was_not_applied() const { return column_ == Column::gradient && now_.skipped(); }

  const StepEvidence& now_;
  Column column_;
  std::string_view kind_;
};

}  // namespace

void expect_tensors(const StepEvidence& now, Column column, Expectations& expected) {
  if (column == Column::buffer) {
    for (const Fact& fact : of_column(now.facts.reference, column)) {
      if (expected.empty() || expected.back().name != fact.name) expected.push_back({fact});
    }
    return;
  }
  if (column >= Column::parameter) {
    const auto kinds = state_kinds(now);
    if (std::ranges::find(kinds, rules_of(column).name) == kinds.end()) return;
  }
  const ExpectedTensors tensors(now, column);
  for (const ExpectedParameter& parameter : now.cell.model.parameters) tensors.add(parameter, expected);
}

}  // namespace plumbline::judging
