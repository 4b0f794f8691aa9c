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

Finding expect_red(SyntheticCell& cell, const std::vector<std::string>& checks, const std::string& item,
                   std::int64_t step) {
  const auto verdict = cell.judge();
  EXPECT_EQ(with_outcome(verdict, Outcome::fails), checks);
  auto found = verdict.first_divergence.value_or(Finding{});
  expect_finding(found, {.step = step, .item = item});
  return found;
}

Finding expect_fails(SyntheticCell& cell, std::string_view check) {
  const auto result = result_of(cell.judge(), check);
  EXPECT_EQ(result.outcome, Outcome::fails) << result.reason;
  return result.first_divergence.value_or(Finding{});
}

void expect_each_red(const std::vector<std::string>& checks, const std::vector<Damage>& cases,
                     const SyntheticPlan& plan) {
  for (const Damage& damage : cases) {
    SCOPED_TRACE(damage.name);
    SyntheticCell cell(plan);
    damage.change(cell);
    const auto verdict = cell.judge();
    EXPECT_EQ(with_outcome(verdict, Outcome::fails), checks);
    expect_finding(verdict.first_divergence.value_or(Finding{}), damage.expected);
  }
}

void expect_each_fails(std::string_view check, const std::vector<Damage>& cases, const SyntheticPlan& plan) {
  for (const Damage& damage : cases) {
    SCOPED_TRACE(damage.name);
    SyntheticCell cell(plan);
    damage.change(cell);
    expect_finding(expect_fails(cell, check), damage.expected);
  }
}

void expect_each_holds(std::string_view check, const std::vector<Damage>& cases, const SyntheticPlan& plan) {
  for (const Damage& damage : cases) {
    SyntheticCell cell(plan);
    damage.change(cell);
    const auto result = result_of(cell.judge(), check);
    EXPECT_EQ(result.outcome, Outcome::holds) << damage.name << ": " << result.reason;
  }
}

}  // namespace plumbline::testing
