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

}  // namespace

bool is_blocking(const CheckResult& check) {
  if (check.outcome == Outcome::differs) return true;
  return check.outcome == Outcome::incomplete && check.required && !check.accepted;
}

bool none_blocks(const std::vector<CheckResult>& checks) {
  return std::ranges::none_of(checks, is_blocking);
}

std::vector<std::string> failing_claims(const std::vector<CheckResult>& checks) {
  std::vector<std::string> differing, blocking;
  for (const auto& check : checks) {
    if (check.outcome == Outcome::differs) differing.push_back(check.name);
    if (is_blocking(check)) blocking.push_back(check.name);
  }
  return differing.empty() ? blocking : differing;
}

const std::vector<std::string>& claims_of_every_case() {
  static const std::vector<std::string> claims{"data", "loss", "gradients", "parameters", "buffers"};
  return claims;
}

bool is_of_every_case(const std::string& claim) {
  return std::ranges::find(claims_of_every_case(), claim) != claims_of_every_case().end();
}

std::string reason_words(const CheckResult& check) {
  if (!check.from_step) return check.reason;
  const std::string before =
      *check.from_step > 0 ? fmt::format("compared through step {}; ", *check.from_step - 1) : "";
  return fmt::format("{}from step {} on: {}", before, *check.from_step, check.reason);
}

bool CellVerdict::incomplete() const {
  const auto differs = [](const CheckResult& check) { return check.outcome == Outcome::differs; };
  return !holds && std::ranges::none_of(checks, differs) && !none_blocks(checks);
}

std::string missing_words(const std::vector<CheckResult>& checks, bool accepted) {
  struct Group {
    std::string why;
    std::vector<std::string> claims;
    std::optional<std::int64_t> from_step;
  };
  std::vector<Group> groups;
  for (const CheckResult& check : checks) {
    const bool incomplete = check.outcome == Outcome::incomplete;
    if (!incomplete || !(accepted ? check.accepted : is_blocking(check))) continue;
    const auto found = std::ranges::find(groups, check.reason, &Group::why);
    Group& group = found == groups.end() ? groups.emplace_back(Group{check.reason, {}, check.from_step}) : *found;
    group.claims.push_back(check.name);
    group.from_step = check.from_step && group.from_step ? std::min(check.from_step, group.from_step) : std::nullopt;
  }
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    const bool one = group.claims.size() == 1 && (group.claims[0] == "loss" || !group.claims[0].ends_with('s'));
    parts.push_back(fmt::format("{} {} not compared{}: {}", join(group.claims, ", "), one ? "was" : "were",
                                group.from_step ? fmt::format(" from step {} on", *group.from_step) : "", group.why));
  }
  return join(parts, "; ");
}

std::vector<std::string> acceptable_claims(const std::vector<CheckResult>& checks) {
  std::vector<std::string> claims;
  for (const CheckResult& check : checks) {
    if (is_blocking(check) && !is_of_every_case(check.name)) return {};
    if (is_blocking(check)) claims.push_back(check.name);
  }
  return claims;
}

std::string accepting_option(const std::vector<CheckResult>& checks) {
  return "--accept-missing " + join(acceptable_claims(checks), ",");
}

std::string accepting_key(const std::vector<CheckResult>& checks) {
  return fmt::format("accept_missing = [\"{}\"]", join(acceptable_claims(checks), "\", \""));
}

void sum_up(Verdict& verdict) {
  verdict.counts = {{"cases", std::ssize(verdict.cells)},
                    {"cases_holding", 0},
                    {"cases_incomplete", 0},
                    {"cases_unstable", 0},
                    {"cases_not_run", std::ssize(verdict.not_run)},
                    {"claims", 0}};
  verdict.compared.clear();
  verdict.inspected.clear();
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      ++verdict.counts["claims"];
      ++verdict.counts["claims_" + to_text(check.outcome)];
      add(verdict.compared, check.compared);
      add(verdict.inspected, check.inspected);
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks);
  for (const auto& cell : verdict.cells) {
    if (cell.holds) ++verdict.counts["cases_holding"];
    if (cell.incomplete()) ++verdict.counts["cases_incomplete"];
    if (cell.unstable()) ++verdict.counts["cases_unstable"];
    take(cell.checks);
  }
}

}  // namespace plumbline
