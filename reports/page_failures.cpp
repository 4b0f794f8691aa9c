// SPDX-License-Identifier: BSD-3-Clause
// The failing cases: a line each, grouped by first divergence, and a card each with its first divergence
// and the command that runs it again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/comparison_text.hpp"
#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_open_lines = 12;
constexpr std::ptrdiff_t most_named = 3;
/// With more failing cases than this, one line of each cause is open, so that the grid stays on the first screen.
constexpr std::size_t few_failing = 5;

const CheckResult* first_blocking(const CellVerdict& cell) {
  const auto found = std::ranges::find_if(cell.checks, is_blocking);
  return found == cell.checks.end() ? nullptr : &*found;
}

/// What is missing in an incomplete case; else the first claim that differs.
std::string lack_of(const CellVerdict& cell) {
  if (cell.incomplete()) return missing_words(cell.checks, false);
  const CheckResult* check = first_blocking(cell);
  return check == nullptr ? "no check was recorded" : fmt::format("{} {}", check->name, outcome_words(check->outcome));
}

using Cause = std::tuple<std::string, std::string, std::int64_t>;  ///< kind, tensor, step

Cause beginning_of(const CellVerdict& cell) {
  if (!cell.first_divergence) return {lack_of(cell), "", 0};
  return {cell.first_divergence->level, cell.first_divergence->item, cell.first_divergence->step};
}

bool broke_off(const CellVerdict& cell) {
  return cell.first_divergence && cell.first_divergence->level == "completion";
}

using CaseIndices = std::vector<std::size_t>;  ///< indices of cases

/// Worst first: crashed runs, then those that differ, each by the most frequent cause; at last the incomplete ones.
std::vector<CaseIndices> causes_of(const Verdict& verdict) {
  std::vector<CaseIndices> causes;
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) {
    if (verdict.cells[i].holds) continue;
    auto same = std::ranges::find_if(causes, [&](const CaseIndices& each) {
      return beginning_of(verdict.cells[each.front()]) == beginning_of(verdict.cells[i]);
    });
    if (same == causes.end()) same = causes.insert(same, CaseIndices{});
    same->push_back(i);
  }
  std::ranges::stable_sort(causes, [&](const CaseIndices& a, const CaseIndices& b) {
    const auto rank = [&](const CaseIndices& cases) {
      const CellVerdict& cell = verdict.cells[cases.front()];
      return broke_off(cell) ? 0 : cell.incomplete() ? 2 : 1;
    };
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.size() > b.size();
  });
  return causes;
}

/// The item with what it is: "gradient model.norm.weight", "boundary layers.3 forward".
std::string item_words(const Finding& divergence) {
  const std::map<std::string, const char*> kinds = {{"R2", "boundary "}, {"R3", "gradient "}, {"R5", "parameter "}};
  const auto kind = kinds.find(divergence.level);
  return (kind == kinds.end() ? "" : kind->second) + divergence.item +
         (divergence.direction.empty() ? "" : " " + divergence.direction);
}

/// "the bits differ": what a divergence adds to its place.
std::string without_place(const Finding& divergence) {
  const std::string place = place_in_run(divergence) + ", ";
  const std::size_t begin = divergence.words.find(place);
  if (begin == std::string::npos) return divergence.words;
  const std::size_t why = divergence.words.find(": ", begin);
  return divergence.words.substr(why == std::string::npos ? begin + place.size() : why + 2);
}

/// What the divergence adds to its place, else the check.
std::string in_short(const CellVerdict& cell) {
  std::string text;
  const CheckResult* check = first_blocking(cell);
  if (cell.first_divergence) {
    const std::string& size = cell.first_divergence->size;
    text = without_place(*cell.first_divergence) + (size.empty() ? "" : "; " + size);
  }
  if (cell.incomplete()) text = "incomplete: " + lack_of(cell);
  if (text.empty() && check != nullptr) text = fmt::format("{}: {}", lack_of(cell), check->reason);
  if (text.empty()) text = lack_of(cell);
  return (cell.unstable() ? "unstable: " : "") + without_digests(text);
}

PageData fault_line(const CellVerdict& cell) {
  const auto numbered = [](const char* what, const std::optional<std::int64_t>& number) {
    return number ? fmt::format("{} {}", what, *number) : "";
  };
  const Finding at = cell.first_divergence.value_or(Finding{});
  const std::string stage = at.stage ? numbered("stage", at.stage) : numbered("rank", at.rank);
  return page_row({{"anchor", cell.id},
                   {"title", cell_title(cell)},
                   {"step", !cell.first_divergence ? ""
                            : at.step < 0          ? "start"
                                                   : numbered("step", at.step)},
                   {"microbatch", numbered("microbatch", at.microbatch)},
                   {"stage", stage},
                   {"item", at.item == stage ? "" : item_words(at)},
                   {"looks", in_short(cell)}});
}

PageData fault_lines(const Verdict& verdict, const CaseIndices& cells, std::size_t from, std::size_t to) {
  PageData lines = page_list();
  for (std::size_t i = from; i < to; ++i) lines.push_back(fault_line(verdict.cells[cells[i]]));
  return lines;
}

std::string when(std::int64_t step) {
  return step < 0 ? "before the first step" : fmt::format("step {}", step);
}

std::string cause_words(const CellVerdict& cell) {
  if (!cell.first_divergence || cell.first_divergence->item.empty()) return std::get<0>(beginning_of(cell));
  return fmt::format("{}, {}", when(cell.first_divergence->step), item_words(*cell.first_divergence));
}

PageData cause_data(const Verdict& verdict, const CaseIndices& cells, std::size_t shown) {
  PageData data;
  data.set("alike",
           page_section(cells.size() == 1
                            ? ""
                            : fmt::format("{} with the same {}: {}", count_text(std::ssize(cells), "case"),
                                          verdict.cells[cells.front()].incomplete() ? "gap" : "first divergence",
                                          cause_words(verdict.cells[cells.front()]))));
  data.set("lines", fault_lines(verdict, cells, 0, shown));
  PageData more(false);
  if (shown < cells.size()) {
    more = PageData("rows", fault_lines(verdict, cells, shown, cells.size()));
    more.set("count", grouped(std::ssize(cells) - static_cast<std::int64_t>(shown)) +
                          (shown > 0 ? " more like these" : " like this"));
  }
  data.set("more", more);
  return data;
}

PageData divergence_data(const Finding& divergence) {
  std::string words = without_place(divergence);
  const std::string values = fmt::format(" (expected {}, got {})", divergence.expected, divergence.got);  // own lines
  if (const std::size_t at = words.find(values); at != std::string::npos) words.erase(at, values.size());
  PageData data = page_row({{"words", without_digests(words)}});
  const bool digests = without_digests(divergence.got) != divergence.got;  // say nothing to people
  data.set("expected", page_text(divergence.expected));
  data.set("got", page_text(divergence.got));
  data.set("values", PageData(!digests && !(divergence.expected + divergence.got).empty()));
  data.set("size", page_section(divergence.size));
  return data;
}

/// Checks with the same reason share a line: a crashed run leaves a dozen of them.
struct Reason {
  std::vector<std::string> checks;
  Outcome outcome;
  std::string reason;
};

std::vector<Reason> merged_reasons(const CellVerdict& cell) {
  std::vector<Reason> all;
  for (const auto& check : cell.checks) {
    if (!is_blocking(check)) continue;
    const std::string reason = difference_words(check, cell);
    const bool same = !all.empty() && all.back().outcome == check.outcome && all.back().reason == reason;
    if (!same) all.push_back({{}, check.outcome, reason});
    all.back().checks.push_back(check.name);
  }
  return all;
}

PageData reasons(const CellVerdict& cell) {
  PageData list = page_list();
  if (cell.incomplete()) {
    PageData entry = page_row(
        {{"name", "Nothing differs"},
         {"outcome", "in what was compared. "},
         {"reason", lack_of(cell) + (acceptable_claims(cell.checks).empty()
                                         ? ""
                                         : fmt::format(". To accept it: {} in the sweep file, or plumbline "
                                                       "compare {}",
                                                       accepting_key(cell.checks), accepting_option(cell.checks)))}});
    list.push_back(entry);
    return list;
  }
  for (const auto& reason : merged_reasons(cell)) {
    const auto count = std::ssize(reason.checks);
    list.push_back(page_row({{"name", count > most_named ? count_text(count, "check") : join(reason.checks, ", ")},
                             {"outcome", outcome_words(reason.outcome)},
                             {"reason", ": " + without_digests(reason.reason)}}));
  }
  return list;
}

std::string second_run_text(const SecondRun& second) {
  // Only what it adds: it diverges again at the same place.
  const std::string words =
      second.words.empty() ? ""
                           : ": " + without_digests(second.words.substr(0, second.words.find(" First divergence: ")));
  switch (second.outcome) {
    case SecondRun::Outcome::fails_again:
      return "fails again" + words;
    case SecondRun::Outcome::holds:
      return "holds, so the case is unstable" + words;
    case SecondRun::Outcome::not_done:
      break;
  }
  return "not done" + words;
}

PageData environment_data(const std::vector<MachineDifference>& differences) {
  PageData rows = page_list();
  for (const auto& [key, reference, candidate] : differences)
    rows.push_back(page_row({{"key", key}, {"reference", reference}, {"candidate", candidate}}));
  return rows;
}

void add_evidence(PageData& card, const CellVerdict& cell, const Evidence& evidence) {
  const auto run = evidence.cells.find(cell.id);
  const bool bits_differ = cell.first_divergence && !broke_off(cell) && run != evidence.cells.end();
  const auto differences = bits_differ ? run->second.environment : std::vector<MachineDifference>{};
  card.set("environment_same", PageData(bits_differ && differences.empty()));
  set_list(card, "environment", environment_data(differences));
  const auto launch = evidence.launches.find(cell.id);
  const LaunchEvidence left = launch == evidence.launches.end() ? LaunchEvidence{} : launch->second;
  card.set("has_record", PageData(run != evidence.cells.end()));
  card.set("has_output", PageData(launch != evidence.launches.end()));
  set_text(card, "ran", left.command);
  set_text(card, "error_end", left.error_end);
}

PageData failure_card(const Verdict& verdict, const CellVerdict& cell, const Evidence& evidence) {
  PageData card = page_row({{"anchor", cell.id},
                            {"title", cell_title(cell)},
                            {"state", broke_off(cell) && !cell.unstable() ? "crashed or timed out" : case_state(cell)},
                            {"short", cell.first_divergence ? place_in_run(*cell.first_divergence) + ", " +
                                                                  item_words(*cell.first_divergence)
                                      : cell.incomplete() ? "not compared in full"
                                                          : lack_of(cell)},
                            {"id", cell.id}});
  card.set("gap", PageData(cell.incomplete()));
  add_evidence(card, cell, evidence);
  card.set("divergence", cell.first_divergence ? divergence_data(*cell.first_divergence) : PageData(false));
  card.set("reasons", reasons(cell));
  card.set("checks", check_lines(cell.checks));
  set_text(card, "second_run", cell.second_run ? second_run_text(*cell.second_run) : "");
  set_text(card, "command", from_its_folder(verdict, cell.command));
  return card;
}

}  // namespace

void fill_failures(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  const std::vector<CaseIndices> causes = causes_of(verdict);
  PageData groups = page_list(), cards = page_list();
  const auto all = static_cast<std::size_t>(std::ranges::count(verdict.cells, false, &CellVerdict::holds));
  const std::size_t most_shown = all > few_failing ? 1 : few_failing;
  std::size_t failing = 0, lines = 0;
  for (const CaseIndices& cells : causes) {
    const std::size_t shown = std::min({cells.size(), most_shown, most_open_lines - lines});
    groups.push_back(cause_data(verdict, cells, shown));
    lines += shown;
    for (const std::size_t index : cells) {
      PageData card = failure_card(verdict, verdict.cells[index], evidence);
      card.set("open", PageData(failing++ == 0));
      cards.push_back(card);
    }
  }
  page.set("has_failures", PageData(failing > 0));
  const bool incomplete = std::ranges::any_of(verdict.cells, &CellVerdict::incomplete);
  const bool differ =
      std::ranges::any_of(verdict.cells, [](const CellVerdict& cell) { return !cell.holds && !cell.incomplete(); });
  page.set("what_fails", !incomplete ? "What does not hold"
                         : differ    ? "What does not hold, and what is incomplete"
                                     : "What is incomplete");
  page.set("each_failure", !incomplete ? "Each failure" : differ ? "Each failure, each gap" : "Each gap");
  page.set("failing", fmt::format("{}, {}", count_text(static_cast<std::int64_t>(failing), "case"),
                                  count_text(std::ssize(causes), "cause")));
  page.set("causes", groups);
  page.set("failures", cards);
}

}  // namespace plumbline
