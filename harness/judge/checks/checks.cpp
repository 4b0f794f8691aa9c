// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/judge/facts/fact.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {

CheckDescriptor as_asked_check();
CheckDescriptor completion_check();
CheckDescriptor data_check();
CheckDescriptor census_check();
CheckDescriptor loss_check();
CheckDescriptor boundaries_check();
CheckDescriptor gradients_check();
CheckDescriptor nonzero_gradients_check();
CheckDescriptor gradient_norm_check();
CheckDescriptor applied_check();
CheckDescriptor parameters_check();
CheckDescriptor tied_weights_check();
CheckDescriptor buffers_check();
CheckDescriptor evaluation_check();
CheckDescriptor audit_check();
CheckDescriptor memory_check();
CheckDescriptor conformance_check();
CheckDescriptor resume_check();
CheckDescriptor replicas_check();
CheckDescriptor repeatability_check();

const std::vector<CheckDescriptor>& all_checks() {
  static const std::vector<CheckDescriptor> checks = {
      as_asked_check(),      completion_check(), data_check(),       census_check(),
      loss_check(),          boundaries_check(), gradients_check(),  nonzero_gradients_check(),
      gradient_norm_check(), applied_check(),    parameters_check(), tied_weights_check(),
      buffers_check(),       evaluation_check(), audit_check(),      memory_check(),
      conformance_check(),   resume_check(),     replicas_check(),   repeatability_check(),
  };
  return checks;
}

const CheckDescriptor& check_of(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& check : all_checks()) {
    if (check.name == name) return check;
    names.push_back(check.name);
  }
  const auto nearest = nearest_word(name, names);
  throw InputError(
      fmt::format("no check is called `{}`{}", name,
                  nearest ? fmt::format("; did you mean `{}`?", *nearest) : "; the checks are " + join(names, ", ")));
}

bool is_selected(const CellPlan& plan, const std::string& check) {
  return plan.checks.empty() || std::ranges::find(plan.checks, check) != plan.checks.end();
}

bool accepted(const CellPlan& plan, const std::string& claim) {
  return std::ranges::find(plan.accept_missing, claim) != plan.accept_missing.end();
}

bool is_required(const CellPlan& plan, const CheckDescriptor& check, bool own) {
  if (check.required == Required::always) return true;
  if (!is_selected(plan, check.name)) return false;
  return own || is_of_every_case(check.name);
}

std::string why_not_recorded(const CheckDescriptor& check, const Manifest& reference, const Manifest& candidate,
                             bool could_compare) {
  std::vector<std::string> sentences;
  const auto look = [&](const Manifest& manifest, bool of_reference) {
    std::vector<std::pair<std::string, std::vector<std::string>>> unseen;  // kinds by the reason that each has first
    std::set<std::string> seen;
    for (const auto& [what, why, from_step] : manifest.not_recorded) {
      const auto named = [&kind = what](const std::vector<std::string>& kinds) {
        return std::ranges::find(kinds, kind) != kinds.end();
      };
      const bool needed = named(check.needs) || (of_reference && named(check.needs_of_reference)) ||
                          (could_compare && named(check.compares_without));
      if (!needed || !seen.insert(what).second) continue;
      const auto same = [&reason = why](const auto& one) { return one.first == reason; };
      const auto known = std::ranges::find_if(unseen, same);
      (known == unseen.end() ? unseen.emplace_back(why, std::vector<std::string>{}) : *known).second.push_back(what);
    }
    for (const auto& [why, kinds] : unseen) {
      const std::string sentence = fmt::format("not recorded: {} ({})", join(kinds, ", "), why);
      if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(sentence);
    }
  };
  look(candidate, false);
  look(reference, true);
  return join(sentences, "; ");
}

namespace {

std::string how_to_compare_the_rest(const std::optional<LaunchFinding>& replay, bool recorded) {
  if (replay && !replay->ended_well())
    return "The reference was run again with the pipeline's norms, and failed: " + replay->words;
  if (replay)
    return "The reference was run again with {norms_from}, but its record does not replay norms: pass the path to "
           "plumbline.Record(norms_from=), and clip by the result of record.norm(total_norm)";
  return fmt::format("To compare the rest, {}record the run on one device again with norms_from= the pipeline's record",
                     recorded ? "" : "clip by the result of record.norm(total_norm), and ");
}

std::string why_diverged(const CellPlan& plan, const Record& reference, const Record& candidate, std::int64_t step) {
  const bool recorded = !excused(reference, "norm", step) && !excused(candidate, "norm", step);
  return fmt::format("the clip coefficients of step {} {}differ by the rounding of a norm {}. {}", step,
                     recorded ? "" : "may ", recorded ? "that each rank sums for itself" : "that was not recorded",
                     how_to_compare_the_rest(plan.replay_launch, recorded));
}

/// The first step without the rows that the check compares, if the recorders report each kind.
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
  if (result.outcome == Outcome::incomplete && is_selected(plan, result.name))
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
