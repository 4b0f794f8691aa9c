// The first screen: verdict, counts, what was not run.
#include <algorithm>
#include <map>

#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/machine_memory.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_in_first_screen = 4;

struct Tally {
  std::int64_t asked = 0, not_asked = 0;     ///< checks
  std::int64_t of_references = 0;            ///< of those asked for, that hold: they have no square in the grids
  std::map<Outcome, std::int64_t> outcomes;  ///< of those asked for

  std::int64_t of(Outcome outcome) const {
    const auto found = outcomes.find(outcome);
    return found == outcomes.end() ? 0 : found->second;
  }
};

Tally tally_of(const Verdict& verdict) {
  Tally tally;
  const auto take = [&](const std::vector<CheckResult>& checks, bool of_reference) {
    for (const auto& check : checks) {
      if (!asked_for(verdict, check)) {
        ++tally.not_asked;
        continue;
      }
      ++tally.asked;
      ++tally.outcomes[check.outcome];
      if (of_reference && check.outcome == Outcome::holds) ++tally.of_references;
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks, true);
  for (const auto& cell : verdict.cells) take(cell.checks, false);
  return tally;
}

PageData tile(const std::string& value, const std::string& label) {
  PageData data;
  data.set("value", page_text(value));
  data.set("label", page_text(label));
  return data;
}

std::string in_brackets(const std::vector<std::string>& parts) {
  return parts.empty() ? "" : " (" + join(parts, ", ") + ")";
}

PageData tiles(const Verdict& verdict, const Tally& tally) {
  PageData list = page_list();
  const auto cells = std::ssize(verdict.cells);
  const auto holding = std::ranges::count_if(verdict.cells, [](const CellVerdict& cell) { return cell.holds; });
  const auto& selection = verdict.selection;
  const bool some = selection.cells < selection.of_cells;
  list.push_back(tile(grouped(holding) + " / " + grouped(cells),
                      some ? "cells hold, of " + grouped(selection.of_cells) + " in the sweep" : "cells hold"));
  std::vector<std::string> apart;
  if (tally.of_references > 0) apart.push_back(grouped(tally.of_references) + " of them of references");
  if (const auto aside = tally.of(Outcome::not_applicable)) apart.push_back(grouped(aside) + " more do not apply");
  if (tally.not_asked > 0) apart.push_back(grouped(tally.not_asked) + " were not asked for");
  list.push_back(
      tile(grouped(tally.of(Outcome::holds)) + " / " + grouped(tally.asked - tally.of(Outcome::not_applicable)),
           "checks hold" + in_brackets(apart)));
  for (const auto& [what, label] : {std::pair{"tensors", "tensors compared"}, {"elements", "elements compared"}}) {
    if (const auto count = verdict.compared.find(what); count != verdict.compared.end())
      list.push_back(tile(grouped(count->second), label));
  }
  if (const auto bytes = verdict.compared.find("bytes"); bytes != verdict.compared.end())
    list.push_back(tile(bytes_text(bytes->second), "boundary bytes compared"));
  list.push_back(tile(grouped(std::ssize(verdict.not_run)), "cells not run"));
  list.push_back(tile(grouped(tally.of(Outcome::not_run) + tally.of(Outcome::not_triggered) + tally.not_asked),
                      "checks not run or not triggered"));
  return list;
}

/// All that the verdict counted, for the fold below the tiles.
std::string all_counts(const Verdict& verdict) {
  std::string text = counts_text(verdict.counts);
  if (!verdict.compared.empty()) text += ". Compared: " + counts_text(verdict.compared);
  if (!verdict.looked_at.empty()) text += ". Looked at: " + counts_text(verdict.looked_at);
  return text;
}

/// Of every check of a cell, asked for or not: the squares of the grids.
PageData outcomes(const Verdict& verdict) {
  std::map<Outcome, std::int64_t> counts;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) ++counts[check.outcome];
  }
  PageData list = page_list();
  for (const Outcome outcome :
       {Outcome::holds, Outcome::fails, Outcome::not_run, Outcome::not_triggered, Outcome::not_applicable}) {
    PageData entry;
    entry.set("class", to_text(outcome));
    entry.set("sign", outcome_sign(outcome));
    entry.set("words", outcome_words(outcome));
    entry.set("count", grouped(counts[outcome]));
    list.push_back(entry);
  }
  return list;
}

/// Checks without a result, grouped by reason, so that a hundred cells with one reason are one row.
PageData skipped(const Verdict& verdict) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> rows;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      if (check.outcome == Outcome::holds || check.outcome == Outcome::fails) continue;
      ++rows[{check.name, outcome_words(check.outcome) + (check.requirement == Requirement::told ? " (told)" : ""),
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
  page.set("outcomes", outcomes(verdict));
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
