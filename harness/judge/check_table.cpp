// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/check_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {

const std::vector<CheckDescriptor>& all_checks() {
  static const std::vector<CheckDescriptor> checks = [] {
    auto list = list_of_checks();
    std::ranges::sort(list, {}, &CheckDescriptor::place);
    return list;
  }();
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
                  nearest ? fmt::format("; did you mean `{}`?", *nearest) : "; there are " + join(names, ", ")));
}

bool asked_for(const CellPlan& plan, const std::string& check) {
  return plan.checks.empty() || std::ranges::find(plan.checks, check) != plan.checks.end();
}

bool accepted(const CellPlan& plan, const std::string& claim) {
  return std::ranges::find(plan.accept_missing, claim) != plan.accept_missing.end();
}

bool is_required(const CellPlan& plan, const CheckDescriptor& check, bool own) {
  if (check.required == Required::always) return true;
  if (!asked_for(plan, check.name)) return false;
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
      const std::string sentence = fmt::format("the recorder could not see {}: {}", join(kinds, ", "), why);
      if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(sentence);
    }
  };
  look(candidate, false);
  look(reference, true);
  return join(sentences, "; ");
}

}  // namespace plumbline::judging
