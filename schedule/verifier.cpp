// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/channel_rules.hpp"
#include "schedule/list_rules.hpp"
#include "schedule/message_run.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

void check_lists(const Schedule& schedule, bool compute_only, ListFindings& findings) {
  ListRules rules(schedule, findings);
  for (std::int32_t rank = 0; rank < schedule.placement.ranks; ++rank) rules.check_rank(rank, compute_only);
  rules.check_missing(compute_only);
}

void check_slots(const Schedule& schedule, std::int64_t limit, ListFindings& findings) {
  for (std::int32_t rank = 0; rank < schedule.placement.ranks; ++rank) {
    const ActionList& list = schedule.ranks[static_cast<std::size_t>(rank)];
    std::int64_t open = 0;
    for (std::size_t position = 0; position < list.size(); ++position) {
      const Action& action = list[position];
      if (action.type == ActionType::forward && ++open > limit) {
        findings.add(
            Rule::slots, rank, position, action,
            fmt::format("it opens slot {} where {} are allowed; put a B or W before it, or allow more", open, limit));
        break;
      }
      if (action.type == ActionType::backward || action.type == ActionType::backward_weight) --open;
    }
  }
}

}  // namespace

std::vector<ListFinding> find_incomplete(const Schedule& compute_only) {
  ListFindings findings;
  if (check_sizes(compute_only, findings)) check_lists(compute_only, true, findings);
  return findings.take();
}

std::vector<ListFinding> verify(const Schedule& lowered, const VerifyOptions& options) {
  ListFindings findings;
  if (!check_sizes(lowered, findings)) return findings.take();
  check_lists(lowered, false, findings);
  if (options.tied) check_ending(lowered, *options.tied, findings);
  if (findings.empty()) check_channel_order(lowered, findings);
  if (findings.empty()) check_deadlock(lowered, findings);
  if (findings.empty() && options.ascending) check_accumulation(lowered, findings);
  if (findings.empty() && options.slot_limit) check_slots(lowered, *options.slot_limit, findings);
  return findings.take();
}

void verify_complete(const Schedule& compute_only) {
  const std::vector<ListFinding> findings = find_incomplete(compute_only);
  if (!findings.empty()) throw InputError(fmt::format("schedule {}: {}", compute_only.name, to_text(findings.front())));
}

std::int64_t peak_slots(const ActionList& list) {
  std::int64_t open = 0;
  std::int64_t peak = 0;
  for (const Action& action : list) {
    if (action.type == ActionType::forward) peak = std::max(peak, ++open);
    if (action.type == ActionType::backward || action.type == ActionType::backward_weight) --open;
  }
  return peak;
}

bool accumulates_ascending(const Schedule& schedule) {
  ListFindings findings;
  check_accumulation(schedule, findings);
  return findings.empty();
}

}  // namespace plumbline
