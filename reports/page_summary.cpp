// SPDX-License-Identifier: BSD-3-Clause
// The first screen: verdict, counts, what was not run.
#include <algorithm>
#include <map>

#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_in_first_screen = 4;

struct Tally {
  std::int64_t asked = 0, not_asked = 0;     ///< checks
  std::map<Outcome, std::int64_t> outcomes;  ///< of the requested ones

  std::int64_t of(Outcome outcome) const {
    const auto found = outcomes.find(outcome);
    return found == outcomes.end() ? 0 : found->second;
  }
};

Tally tally_of(const Verdict& verdict) {
  Tally tally;
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      if (!asked_for(verdict, check)) {
        ++tally.not_asked;
        continue;
      }
      ++tally.asked;
      ++tally.outcomes[check.outcome];
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks);
  for (const auto& cell : verdict.cells) take(cell.checks);
  return tally;
}

PageData tile(const std::string& value, const std::string& label) {
  PageData data;
  data.set("value", page_text(value));
  data.set("label", page_text(label));
  return data;
}

/// Five tiles, in one row.
PageData tiles(const Verdict& verdict, const Tally& tally) {
  PageData list = page_list();
  const auto cells = std::ssize(verdict.cells);
  const auto holding = std::ranges::count_if(verdict.cells, [](const CellVerdict& cell) { return cell.holds; });
  const auto& selection = verdict.selection;
  list.push_back(tile(
      grouped(holding) + " / " + grouped(cells),
      "cases hold" + (selection.cells < selection.of_cells ? ", of " + grouped(selection.of_cells) + " in the sweep"
                                                           : std::string())));
  list.push_back(
      tile(grouped(tally.of(Outcome::holds)) + " / " + grouped(tally.asked - tally.of(Outcome::not_applicable)),
           "checks hold" + (tally.not_asked > 0 ? ", " + grouped(tally.not_asked) + " not requested" : std::string())));
  for (const auto& [what, label] : {std::pair{"tensors", "tensors compared"}, {"elements", "elements compared"}}) {
    const auto count = verdict.compared.find(what);
    list.push_back(tile(grouped(count == verdict.compared.end() ? 0 : count->second), label));
  }
  const auto checks = tally.of(Outcome::not_run) + tally.of(Outcome::not_triggered) + tally.not_asked;
  list.push_back(tile(grouped(std::ssize(verdict.not_run)) + " / " + grouped(checks), "cases / checks not run"));
  return list;
}

/// All counts of the verdict, for the fold below the tiles.
std::string all_counts(const Verdict& verdict) {
  std::string text = counts_text(verdict.counts);
  if (!verdict.compared.empty()) text += ". Compared: " + counts_text(verdict.compared);
  if (!verdict.looked_at.empty()) text += ". Inspected: " + counts_text(verdict.looked_at);
  return text;
}

/// Checks without a result, grouped by reason, so that a hundred cases with one reason are one row.
PageData skipped(const Verdict& verdict) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> rows;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      if (check.outcome == Outcome::holds || check.outcome == Outcome::fails) continue;
      ++rows[{check.name,
              outcome_words(check.outcome) + (check.requirement == Requirement::told ? " (informational)" : ""),
              check.reason}];
    }
  }
  PageData list = page_list();
  for (const auto& [key, count] : rows) {
    PageData row;
    row.set("check", page_text(std::get<0>(key)));
    row.set("outcome", std::get<1>(key));
    row.set("why", page_text(std::get<2>(key)));
    row.set("cells", grouped(count));
    list.push_back(row);
  }
  return list;
}

}  // namespace

void fill_summary(PageData& page, const Verdict& verdict) {
  const Tally tally = tally_of(verdict);
  const std::string name = verdict.name.empty() ? "sweep" : verdict.name;
  page.set("title", page_text(headline(verdict) + " - " + name + " - Plumbline"));
  page.set("word", page_text(verdict_word(verdict)));
  page.set("mark", outcome_sign(verdict.holds ? Outcome::holds : Outcome::fails));
  page.set("holds", PageData(verdict.holds));
  page.set("lead", page_text(claim(verdict)));
  page.set("tiles", tiles(verdict, tally));
  page.set("has_counts", PageData(!verdict.counts.empty()));
  page.set("all_counts", page_text(all_counts(verdict)));
  const auto warned = warnings(verdict);
  page.set("has_warnings", PageData(!warned.empty()));
  page.set("warnings", page_texts(warned));
  page.set("all_run", PageData(verdict.not_run.empty() && !verdict.selection.partial() && !verdict.cells.empty() &&
                               tally.of(Outcome::not_run) == 0));
  page.set("partial", PageData(verdict.selection.partial()));
  page.set("selected", page_text(headline(verdict)));
  const auto& not_run = verdict.not_run;
  const std::size_t shown = std::min(not_run.size(), most_in_first_screen);
  page.set("has_not_run", PageData(!not_run.empty()));
  page.set("not_run_count", grouped(static_cast<std::int64_t>(not_run.size())));
  page.set("not_run", page_texts(not_run));
  page.set("not_run_first", page_texts({not_run.begin(), not_run.begin() + static_cast<std::ptrdiff_t>(shown)}));
  page.set("not_run_more", shown == not_run.size()
                               ? PageData(false)
                               : PageData("count", grouped(static_cast<std::int64_t>(not_run.size() - shown))));
  page.set("has_unfit", PageData(!verdict.not_applicable.empty()));
  page.set("unfit_count", grouped(std::ssize(verdict.not_applicable)));
  page.set("unfit", page_texts(verdict.not_applicable));
  const PageData aside = skipped(verdict);
  page.set("has_skipped", PageData(aside.is_non_empty_list()));
  page.set("skipped", aside);
  std::string footer = "Sweep " + (verdict.name.empty() ? std::string("without a name") : verdict.name);
  if (!verdict.started.empty()) footer += ", started " + verdict.started;
  page.set("footer", page_text(footer + "."));
}

}  // namespace plumbline
