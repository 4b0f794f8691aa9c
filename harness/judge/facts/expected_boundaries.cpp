// SPDX-License-Identifier: BSD-3-Clause
// Tensors at stage boundaries: each crossing of the candidate's partition has the reference's tensor at both ends, and
// what it computed at other boundaries of the model's units is the reference's, too.
#include <algorithm>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/facts/expected.hpp"
#include "harness/judge/facts/recorded.hpp"

namespace plumbline::judging {
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
