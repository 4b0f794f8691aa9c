// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

template <class Value>
using Names = std::vector<std::pair<Value, std::string>>;

const Names<Outcome> outcomes = {{Outcome::holds, "holds"},
                                 {Outcome::fails, "fails"},
                                 {Outcome::not_run, "not_run"},
                                 {Outcome::not_applicable, "not_applicable"},
                                 {Outcome::not_triggered, "not_triggered"}};
const Names<Requirement> requirements = {
    {Requirement::required, "required"}, {Requirement::told, "told"}, {Requirement::not_applicable, "not_applicable"}};
const Names<Tier> tiers = {{Tier::bits, "bits"}, {Tier::calibrated, "calibrated"}};
const Names<SecondRun::Outcome> second_runs = {{SecondRun::Outcome::fails_again, "fails_again"},
                                               {SecondRun::Outcome::holds, "holds"},
                                               {SecondRun::Outcome::not_done, "not_done"}};

template <class Value>
std::string name_of(const Names<Value>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  throw std::logic_error("a value without a name");
}

template <class Value>
Value value_of(const Names<Value>& names, const std::string& text, const std::string& what) {
  std::vector<std::string> all;
  for (const auto& [value, name] : names) {
    if (text == name) return value;
    all.push_back(name);
  }
  throw InputError("`" + text + "` is not a known " + what + "; known are " + join(all, ", "));
}

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

}  // namespace

std::string to_text(Outcome outcome) {
  return name_of(outcomes, outcome);
}
Outcome parse_outcome(const std::string& text) {
  return value_of(outcomes, text, "outcome");
}
std::string to_text(Requirement requirement) {
  return name_of(requirements, requirement);
}
Requirement parse_requirement(const std::string& text) {
  return value_of(requirements, text, "requirement");
}
std::string to_text(Tier tier) {
  return name_of(tiers, tier);
}
Tier parse_tier(const std::string& text) {
  return value_of(tiers, text, "tier");
}
std::string to_text(SecondRun::Outcome outcome) {
  return name_of(second_runs, outcome);
}
SecondRun::Outcome parse_second_run(const std::string& text) {
  return value_of(second_runs, text, "outcome of a second run");
}

bool is_blocking(const CheckResult& check) {
  if (check.outcome == Outcome::fails) return true;
  return check.requirement == Requirement::required && check.outcome != Outcome::holds &&
         check.outcome != Outcome::not_applicable;
}

void sum_up(Verdict& verdict) {
  verdict.counts = {{"cells", std::ssize(verdict.cells)},
                    {"cells_holding", 0},
                    {"cells_unstable", 0},
                    {"cells_not_run", std::ssize(verdict.not_run)},
                    {"checks", 0}};
  verdict.compared.clear();
  verdict.looked_at.clear();
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      ++verdict.counts["checks"];
      ++verdict.counts["checks_" + to_text(check.outcome)];
      add(verdict.compared, check.compared);
      add(verdict.looked_at, check.looked_at);
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks);
  for (const auto& cell : verdict.cells) {
    if (cell.holds) ++verdict.counts["cells_holding"];
    if (cell.unstable()) ++verdict.counts["cells_unstable"];
    take(cell.checks);
  }
}

}  // namespace plumbline
