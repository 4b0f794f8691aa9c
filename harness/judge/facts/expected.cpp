// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/expected.hpp"

#include <algorithm>

#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/facts/recorded.hpp"

namespace plumbline::judging {

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

}  // namespace plumbline::judging
