// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.hpp"

namespace plumbline {
namespace {

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

std::vector<std::string> claims_of(const std::vector<Missing>& missing) {
  std::vector<std::string> claims;
  for (const Missing& one : missing)
    if (std::ranges::find(claims, one.claim) == claims.end()) claims.push_back(one.claim);
  return claims;
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

bool CellVerdict::incomplete() const {
  return !holds && !missing.empty() && std::ranges::none_of(checks, [&](const CheckResult& check) {
    return is_blocking(check) && std::ranges::find(missing, check.name, &Missing::claim) == missing.end();
  });
}

std::string missing_words(const std::vector<Missing>& missing, bool accepted) {
  struct Group {
    std::string why;
    std::vector<std::string> claims;
    std::optional<std::int64_t> from_step;
  };
  std::vector<Group> groups;
  for (const Missing& one : missing) {
    if (one.accepted != accepted) continue;
    const auto found = std::ranges::find(groups, one.why, &Group::why);
    Group& group = found == groups.end() ? groups.emplace_back(Group{one.why, {}, one.from_step}) : *found;
    if (std::ranges::find(group.claims, one.claim) == group.claims.end()) group.claims.push_back(one.claim);
    group.from_step = one.from_step && group.from_step ? std::min(one.from_step, group.from_step) : std::nullopt;
  }
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    const bool one = group.claims == std::vector<std::string>{"loss"};
    parts.push_back(fmt::format("{} {} not compared{}: {}", join(group.claims, ", "), one ? "was" : "were",
                                group.from_step ? fmt::format(" from step {} on", *group.from_step) : "", group.why));
  }
  return join(parts, "; ");
}

std::string accepting_option(const std::vector<Missing>& missing) {
  return "--accept-missing " + join(claims_of(missing), ",");
}

std::string accepting_key(const std::vector<Missing>& missing) {
  return fmt::format("accept_missing = [\"{}\"]", join(claims_of(missing), "\", \""));
}

bool holds_in_all(const CellVerdict& cell) {
  return std::ranges::none_of(cell.checks, is_blocking) && std::ranges::all_of(cell.missing, &Missing::accepted);
}

void sum_up(Verdict& verdict) {
  verdict.counts = {{"cells", std::ssize(verdict.cells)},
                    {"cells_holding", 0},
                    {"cells_incomplete", 0},
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
    if (cell.incomplete()) ++verdict.counts["cells_incomplete"];
    if (cell.unstable()) ++verdict.counts["cells_unstable"];
    take(cell.checks);
  }
}

}  // namespace plumbline
