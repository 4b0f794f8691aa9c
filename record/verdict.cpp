// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

template <class Value>
struct Words {
  const char* what;
  std::vector<std::pair<Value, std::string>> names;
};

// The parameter only selects the type.
const Words<Outcome>& words_of(Outcome) {
  static const Words<Outcome> words{"outcome",
                                    {{Outcome::holds, "holds"},
                                     {Outcome::fails, "fails"},
                                     {Outcome::not_run, "not_run"},
                                     {Outcome::not_applicable, "not_applicable"},
                                     {Outcome::not_triggered, "not_triggered"}}};
  return words;
}
const Words<Requirement>& words_of(Requirement) {
  using enum Requirement;
  static const Words<Requirement> words{
      "requirement", {{required, "required"}, {informational, "told"}, {not_applicable, "not_applicable"}}};
  return words;
}
const Words<ComparisonMode>& words_of(ComparisonMode) {
  static const Words<ComparisonMode> words{
      "tier", {{ComparisonMode::bits, "bits"}, {ComparisonMode::calibrated, "calibrated"}}};
  return words;
}
const Words<SecondRun::Outcome>& words_of(SecondRun::Outcome) {
  using enum SecondRun::Outcome;
  static const Words<SecondRun::Outcome> words{
      "outcome of a second run", {{fails_again, "fails_again"}, {holds, "holds"}, {not_done, "not_done"}}};
  return words;
}

template <class Value>
std::string name_of(Value value) {
  for (const auto& [known, name] : words_of(value).names) {
    if (known == value) return name;
  }
  throw std::logic_error("a value without a name");
}

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

}  // namespace

std::string to_text(Outcome outcome) {
  return name_of(outcome);
}
std::string to_text(Requirement requirement) {
  return name_of(requirement);
}
std::string to_text(ComparisonMode comparison_mode) {
  return name_of(comparison_mode);
}
std::string to_text(SecondRun::Outcome outcome) {
  return name_of(outcome);
}

template <class Value>
Value parse_word(const std::string& text) {
  std::vector<std::string> all;
  for (const auto& [value, name] : words_of(Value()).names) {
    if (text == name) return value;
    all.push_back(name);
  }
  throw InputError(fmt::format("`{}` is not a known {}; known are {}", text, words_of(Value()).what, join(all, ", ")));
}
template Outcome parse_word<Outcome>(const std::string&);
template Requirement parse_word<Requirement>(const std::string&);
template ComparisonMode parse_word<ComparisonMode>(const std::string&);
template SecondRun::Outcome parse_word<SecondRun::Outcome>(const std::string&);

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
  verdict.inspected.clear();
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      ++verdict.counts["checks"];
      ++verdict.counts["checks_" + to_text(check.outcome)];
      add(verdict.compared, check.compared);
      add(verdict.inspected, check.inspected);
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
