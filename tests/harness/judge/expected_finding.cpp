// SPDX-License-Identifier: BSD-3-Clause
// Findings at changed cases (synthetic_run.hpp).
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

void expect_finding(const Finding& found, const ExpectedFinding& expected) {
  const auto compare = [&found](const char* field, const auto& wanted, const auto& said) {
    if (wanted) {
      EXPECT_EQ(said, *wanted) << field << " of: " << found.words;
    }
  };
  compare("level", expected.level, found.level);
  compare("step", expected.step, found.step);
  compare("microbatch", expected.microbatch, found.microbatch);
  compare("stage", expected.stage, found.stage);
  compare("rank", expected.rank, found.rank);
  compare("replica", expected.replica, found.replica);
  compare("direction", expected.direction, found.direction);
  compare("item", expected.item, found.item);
  compare("what", expected.what, found.what);
  compare("expected", expected.expected, found.expected);
  compare("got", expected.got, found.got);
  EXPECT_NE(found.words.find(expected.words), std::string::npos) << found.words;
}

Finding expect_red(SyntheticCell& cell, const std::vector<std::string>& checks, const ExpectedFinding& expected) {
  const auto verdict = cell.judge();
  EXPECT_EQ(with_outcome(verdict, Outcome::differs), checks);
  auto found = verdict.first_divergence.value_or(Finding{});
  expect_finding(found, expected);
  return found;
}

CheckResult expect_outcome(SyntheticCell& cell, std::string_view check, Outcome outcome) {
  auto result = result_of(cell.judge(), check);
  EXPECT_EQ(result.outcome, outcome) << result.reason;
  return result;
}

Finding expect_fails(SyntheticCell& cell, std::string_view check, const ExpectedFinding& expected) {
  auto found = expect_outcome(cell, check, Outcome::differs).first_divergence.value_or(Finding{});
  expect_finding(found, expected);
  return found;
}

namespace {

/// A cell for each case, changed so.
template <class Expect>
void for_each_case(const std::vector<Damage>& cases, const SyntheticPlan& plan, Expect expect) {
  for (const Damage& damage : cases) {
    SCOPED_TRACE(damage.name);
    SyntheticCell cell(plan);
    damage.change(cell);
    expect(cell, damage.expected);
  }
}

}  // namespace

void expect_each_red(const std::vector<std::string>& checks, const std::vector<Damage>& cases,
                     const SyntheticPlan& plan) {
  for_each_case(cases, plan, [&](SyntheticCell& cell, const auto& expected) { expect_red(cell, checks, expected); });
}

void expect_each_fails(std::string_view check, const std::vector<Damage>& cases, const SyntheticPlan& plan) {
  for_each_case(cases, plan, [&](SyntheticCell& cell, const auto& expected) { expect_fails(cell, check, expected); });
}

void expect_each_holds(std::string_view check, const std::vector<Damage>& cases, const SyntheticPlan& plan) {
  for_each_case(cases, plan, [&](SyntheticCell& cell, const auto&) { expect_outcome(cell, check, Outcome::holds); });
}

}  // namespace plumbline::testing
