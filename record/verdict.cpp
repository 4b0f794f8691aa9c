// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <fmt/format.h>

#include "support/text.hpp"

namespace plumbline {
namespace {

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

}  // namespace

std::string to_text(const ValueFindings& findings) {
  if (findings.fault_signatures.empty()) return findings.otherwise;
  std::vector<std::string> parts;
  for (const FaultSignature& found : findings.fault_signatures)
    parts.push_back(fmt::format("{} ({}): {}", found.words, found.evidence, found.suggests));
  return join(parts, "; or: ");
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
