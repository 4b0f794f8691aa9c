// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/missing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/check_table.hpp"
#include "harness/judge/facts/excuses.hpp"

namespace plumbline::judging {
namespace {

std::string how_to_compare_the_rest(const std::optional<LaunchFinding>& replay, bool recorded) {
  if (replay && !replay->ended_well())
    return "The reference was run again to clip by the pipeline's norms, and failed: " + replay->words;
  if (replay)
    return "The reference was run again with {norms_from}, but its record replays no norms: pass the path on to "
           "plumbline.Record(norms_from=), and clip by what record.norm(total_norm) returns";
  return fmt::format("To compare the rest, {}record the one device again with norms_from= the pipeline's record",
                     recorded ? "" : "clip by what record.norm(total_norm) returns, and ");
}

std::string why_diverged(const CellPlan& plan, const Record& reference, const Record& candidate, std::int64_t step) {
  const bool recorded = !excused(reference, "norm", step) && !excused(candidate, "norm", step);
  return fmt::format("the clip coefficients of step {} {}differ by the rounding of a norm {}. {}", step,
                     recorded ? "" : "may ", recorded ? "that each rank sums for itself" : "that was not recorded",
                     how_to_compare_the_rest(plan.replay_launch, recorded));
}

/// The first step without the rows that the check compares, if the recorders say so of each kind.
std::optional<std::int64_t> first_without(const CheckDescriptor& check, const Record& reference,
                                          const Record& candidate) {
  std::optional<std::int64_t> first;
  for (const Record* record : {&reference, &candidate}) {
    for (const NotRecorded& entry : record->manifest.not_recorded) {
      const auto names = [&](const std::vector<std::string>& kinds) {
        return std::ranges::count(kinds, entry.what) > 0;
      };
      if (!names(check.needs) && !names(check.compares_without)) continue;
      if (!entry.from_step) return std::nullopt;
      first = std::min(*entry.from_step, first.value_or(*entry.from_step));
    }
  }
  return first;
}

}  // namespace

void note_missing(const CellPlan& plan, const Record& reference, const Record& candidate,
                  std::optional<std::int64_t> norm_diverged_at, CheckResult& result) {
  const CheckDescriptor& check = check_of(result.name);
  if (result.outcome == Outcome::incomplete && asked_for(plan, result.name))
    result.from_step = first_without(check, reference, candidate);
  if (norm_diverged_at && check.values != Values::none && result.outcome == Outcome::holds) {
    const std::int64_t first = *norm_diverged_at + (check.values == Values::before_update ? 1 : 0);
    if (first < reference.manifest.steps) {
      result.outcome = Outcome::incomplete;
      result.from_step = first;
      result.reason = why_diverged(plan, reference, candidate, *norm_diverged_at);
    }
  }
  result.accepted = result.outcome == Outcome::incomplete && accepted(plan, result.name);
}

}  // namespace plumbline::judging
