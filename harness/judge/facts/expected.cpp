// SPDX-License-Identifier: BSD-3-Clause
// Tensors of parameters: each is on every stage that has its unit. Buffers: wherever the candidate has them.
// Tensors at stage boundaries: each crossing of the candidate's partition has the reference's tensor at both ends, and
// what it computed at other boundaries of the model's units is the reference's, too.

#include "harness/judge/facts/expected.hpp"

#include <algorithm>
#include <iterator>

#include "harness/judge/facts/fact.hpp"
#include "harness/judge/hints/hints.hpp"
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

Expectations expected_facts(const StepEvidence& now, Column column) {
  Expectations expected;
  if (column == Column::forward || column == Column::backward)
    expect_boundaries(now, column, expected);
  else if (is_tensor(column))
    expect_tensors(now, column, expected);
  else
    expect_scalars(now, column, expected);
  std::ranges::stable_sort(expected, {}, [](const Expected& fact) { return fact.key(); });
  return expected;
}

namespace {

/// One of the reference's facts of this key; in a column of one rank there must be one alone.
void expect_first(const StepEvidence& now, const Fact& key, Expectations& expected) {
  Expected fact{key};
  const bool only = rules_of(key.column).occurs == Occurs::one_rank;
  const FactSpan theirs = with_key(now.facts.reference, key);
  if (only ? theirs.size() == 1 : !theirs.empty()) fact.value = theirs.front().value;
  if (theirs.empty() && excused(now.cell.reference, rules_of(key.column).kind, now.step))
    fact.value_optional = fact.if_either = true;
  expected.push_back(fact);
}

bool several_rates(const Facts& facts) {
  const FactSpan rates = of_column(facts, Column::rate_of_parameter);
  return std::ranges::any_of(rates, [&](const Fact& fact) { return fact.value != rates.front().value; });
}

/// Rates are compared by parameter where an optimizer has several, and both records assign them to parameters.
bool by_parameter(const StepFacts& facts) {
  const auto has = [](const Facts& all) { return !of_column(all, Column::rate_of_parameter).empty(); };
  return has(facts.reference) && has(facts.candidate) &&
         (several_rates(facts.reference) || several_rates(facts.candidate));
}

}  // namespace

bool is_compared(const StepEvidence& now, Column column) {
  if (column == Column::updated) return any_updated(now.cell.reference.ranks).has_value();
  if (column == Column::rate) return !now.skipped() && !by_parameter(now.facts);
  return column != Column::rate_of_parameter || (!now.skipped() && by_parameter(now.facts));
}

void expect_scalars(const StepEvidence& now, Column column, Expectations& expected) {
  const CellEvidence& cell = now.cell;
  switch (column) {
    case Column::updated: {
      Expected fact{{.column = column, .value = *any_updated(cell.reference.ranks)}};
      fact.if_either = true;
      expected.push_back(fact);
      return;
    }
    case Column::rate_of_parameter:
      for (const Fact& fact : of_column(now.facts.candidate, column))
        if (expected.empty() || expected.back().name != fact.name)
          expect_first(now, {.column = column, .name = fact.name}, expected);
      return;
    case Column::rate:
    case Column::step_loss:
      return expect_first(now, {.column = column}, expected);
    case Column::evaluation:
      if (!cell.reference.manifest.evaluation || !cell.reference.manifest.evaluates_after(now.step)) return;
      for (std::int64_t m = -1; m < cell.reference.manifest.evaluation->microbatches; ++m) {
        expect_first(now, {.column = column, .microbatch = m}, expected);
        if (std::holds_alternative<std::monostate>(expected.back().value)) return;  // more would be consequences
      }
      return;
    default:
      for (std::int64_t m = cell.first_own(); m < cell.end_own(); ++m)
        expect_first(now, {.column = column, .microbatch = m}, expected);
  }
}

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
    bool found = false;
    for (const StageEntry& stage : now_.cell.stages.stages) {
      if (std::ranges::find(stage.units, parameter.unit) == stage.units.end()) continue;
      found = true;
      fact.place = {stage.rank, stage.stage};
      expected.push_back(fact);
    }
    fact.place = {};
    if (!found) expected.push_back(fact);  // nowhere, so that it is found missing
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

namespace {

class ExpectedBoundaries {
 public:
  ExpectedBoundaries(const StepEvidence& now, Column column, Expectations& expected)
      : now_(now),
        column_(column),
        expected_(expected),
        reference_has_others_(now.cell.reference.manifest.world_size > 1 ||
                              now.cell.reference.manifest.role == "pipeline"),
        reference_excused_(excused_end(now.cell.reference, "send", now.step) ||
                           excused_end(now.cell.reference, "receive", now.step)) {}

  void crossing(std::int64_t microbatch, const Crossing& crossing) {
    Expected fact{{.column = column_, .microbatch = microbatch, .name = crossing.cut}};
    const Value computed = of_reference(fact);
    const bool lacks = std::holds_alternative<std::monostate>(computed);
    const bool unneeded = lacks && is_unneeded(crossing.cut);
    const FactSpan mine = with_key(now_.facts.candidate, fact);
    if (unneeded && mine.empty()) return;
    fact.value_optional = unneeded || reference_has_others_ || reference_excused_;
    fact.value = computed;
    fact.place = {crossing.from_rank, crossing.from_stage, "send", crossing.to_stage, crossing.to_rank};
    if (column_ == Column::backward)
      fact.place = {crossing.to_rank, crossing.to_stage, "send", crossing.from_stage, crossing.from_rank};
    if (crossing.local()) fact.place.side = "local";
    // Where the reference has no tensor, or computed ones may differ within limits, what was sent must arrive, and a
    // stage without units must hand on what it received.
    const bool by_itself = lacks || !now_.cell.values->exact();
    const auto take = [&](FactSpan::iterator earlier) {
      if (by_itself && earlier != mine.end()) fact.value = earlier->value, fact.of_candidate = true;
    };
    if (now_.cell.stages.find(fact.place.stage)->units.empty()) take(received_by(fact.place.stage, mine));
    expected_.push_back(fact);
    if (crossing.local()) return;
    take(std::ranges::find(mine, fact.place, &Fact::place));
    fact.value_optional = true;  // the sender's row has what the reference lacks
    fact.place.side = "receive";
    std::swap(fact.place.rank, fact.place.peer);
    expected_.push_back(fact);
  }

  /// Tensors that the candidate computed at unit boundaries, whether or not its stages end there.
  void computed_rows() {
    for (const Fact& row : of_column(now_.facts.candidate, column_)) {
      if (row.place.side != "computed") continue;
      Expected fact{row};
      fact.value = of_reference(row);
      fact.value_optional = reference_has_others_ || reference_excused_ || is_unneeded(std::string(row.name));
      if (expected_.empty() || expected_.back().key() != fact.key() || expected_.back().place != fact.place)
        expected_.push_back(fact);
    }
  }

  /// A candidate on one device that records its units' boundaries: all of them.
  void computed_everywhere() {
    const CellEvidence& cell = now_.cell;
    for (std::int64_t m = cell.first_own(); m < cell.end_own(); ++m) {
      for (std::size_t unit = 1; unit < cell.model.units.size(); ++unit) {
        Expected fact{{.column = column_, .microbatch = m, .name = cell.model.units[unit]}};
        const bool recorded = !with_key(now_.facts.candidate, fact).empty();  // and so among its rows
        if (recorded || is_unneeded(cell.model.units[unit])) continue;
        fact.value = of_reference(fact);
        fact.value_optional = reference_has_others_ || reference_excused_;
        fact.place = {0, -1, "computed"};
        expected_.push_back(fact);
      }
    }
  }

 private:
  static FactSpan::iterator received_by(std::int64_t stage, FactSpan mine) {
    return std::ranges::find_if(mine, [&](const Fact& fact) {
      return fact.place.to_stage == stage && (fact.place.side == "receive" || fact.place.side == "local");
    });
  }

  /// The tensor that it computed there, or else the first of its rows: sent ones are recorded first.
  Value of_reference(const Fact& like) const {
    const FactSpan theirs = with_key(now_.facts.reference, like);
    const auto computed = std::ranges::find_if(theirs, [](const Fact& fact) { return fact.place.side == "computed"; });
    if (computed != theirs.end()) return computed->value;
    return theirs.empty() ? Value{} : theirs.front().value;
  }

  /// True for a gradient that no trainable parameter needs: one device does not compute it, but a pipeline may send it.
  bool is_unneeded(const std::string& cut) const {
    if (column_ == Column::forward) return false;
    const CellEvidence& cell = now_.cell;
    const auto position = cell.model.unit_position(cut).value_or(0);
    const bool by_step = !of_column(now_.facts.reference, Column::gradient).empty();
    return std::ranges::all_of(cell.model.parameters, [&](const ExpectedParameter& parameter) {
      if (cell.model.unit_position(parameter.unit).value_or(0) >= position) return true;
      if (is_frozen(cell.reference.manifest, parameter.name)) return true;
      // In this step: frozen until later, or computed without autograd.
      return by_step && with_key(now_.facts.reference, {.column = Column::gradient, .name = parameter.name}).empty();
    });
  }

  const StepEvidence& now_;
  Column column_;
  Expectations& expected_;
  bool reference_has_others_, reference_excused_;
};

}  // namespace

void expect_boundaries(const StepEvidence& now, Column column, Expectations& expected) {
  ExpectedBoundaries boundaries(now, column, expected);
  const CellEvidence& cell = now.cell;
  boundaries.computed_rows();
  if (records_its_cuts(now)) boundaries.computed_everywhere();
  for (std::int64_t m = cell.first_own(); m < cell.end_own(); ++m)
    for (const Crossing& crossing : cell.stages.crossings) boundaries.crossing(m, crossing);
}

bool records_its_cuts(const StepEvidence& now) {
  const CellEvidence& cell = now.cell;
  const bool alone = cell.reference.manifest.world_size == 1 && cell.candidate.manifest.world_size == 1 &&
                     cell.stages.crossings.empty();
  return alone && std::ranges::any_of(now.candidate_rows.all_boundaries(),
                                      [](const auto& placed) { return placed.row->side == "computed"; });
}

}  // namespace plumbline::judging
