// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <algorithm>

namespace plumbline {
namespace {

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

}  // namespace

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
  verdict.holds = !verdict.cells.empty() && verdict.not_run.empty();
  for (const auto& reference : verdict.references) {
    verdict.holds = verdict.holds && std::ranges::none_of(reference.checks, is_blocking);
    take(reference.checks);
  }
  for (const auto& cell : verdict.cells) {
    verdict.holds = verdict.holds && cell.holds;
    if (cell.holds) ++verdict.counts["cells_holding"];
    if (cell.unstable()) ++verdict.counts["cells_unstable"];
    take(cell.checks);
  }
}

}  // namespace plumbline
