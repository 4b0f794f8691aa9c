// The first screen: verdict, counts, what was not run.
#include <algorithm>
#include <map>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/machine_memory.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_in_first_screen = 4;

struct Tally {
  std::int64_t cells = 0, cells_holding = 0, checks = 0;
  std::map<Outcome, std::int64_t> outcomes;
  std::map<std::string, std::int64_t> looked_at;
};

Tally tally_of(const Verdict& verdict) {
  Tally tally;
  for (const auto& cell : verdict.cells) {
    ++tally.cells;
    if (cell.holds) ++tally.cells_holding;
    for (const auto& check : cell.checks) {
      ++tally.checks;
      ++tally.outcomes[check.outcome];
      for (const auto& [what, count] : check.looked_at) tally.looked_at[what] += count;
    }
  }
  return tally;
}

/// The verdict's own count; where it lacks one, the sum over the cells' checks.
std::optional<std::int64_t> count_of(const Verdict& verdict, const Tally& tally, const std::string& what) {
  if (const auto found = verdict.counts.find(what); found != verdict.counts.end()) return found->second;
  if (const auto found = tally.looked_at.find(what); found != tally.looked_at.end()) return found->second;
  return std::nullopt;
}

PageData tile(const std::string& value, const std::string& label) {
  PageData data;
  data.set("value", page_text(value));
  data.set("label", page_text(label));
  return data;
}

PageData tiles(const Verdict& verdict, const Tally& tally) {
  PageData list = page_list();
  list.push_back(tile(grouped(tally.cells_holding) + " / " + grouped(tally.cells), "cells hold"));
  const auto holding = tally.outcomes.find(Outcome::holds);
  const auto aside = tally.outcomes.find(Outcome::not_applicable);
  const std::int64_t apart = aside == tally.outcomes.end() ? 0 : aside->second;
  list.push_back(
      tile(grouped(holding == tally.outcomes.end() ? 0 : holding->second) + " / " + grouped(tally.checks - apart),
           apart == 0 ? "checks hold" : "checks hold (" + grouped(apart) + " more do not apply)"));
  for (const char* what : {"tensors", "elements"}) {
    if (const auto count = count_of(verdict, tally, what))
      list.push_back(tile(grouped(*count), std::string(what) + " compared"));
  }
  if (const auto bytes = count_of(verdict, tally, "bytes"))
    list.push_back(tile(bytes_text(*bytes), "boundary bytes compared"));
  list.push_back(tile(grouped(static_cast<std::int64_t>(verdict.not_run.size())), "not run"));
  return list;
}

/// All that the verdict counted, for the fold below the tiles.
std::string all_counts(const Verdict& verdict) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : verdict.counts) parts.push_back(grouped(count) + "\u00A0" + spaced(what));
  return join(parts, ", ");
}

std::string lead(const Verdict& verdict, const Tally& tally) {
  if (tally.cells == 0) return "No cell was run, so nothing was shown.";
  if (verdict.holds && within_limits(verdict)) {
    return "Every pipeline run stayed within the calibrated limits around the single device; bits were not compared: " +
           count_text(tally.cells, "cell") + ".";
  }
  if (verdict.holds) {
    return "Every pipeline run computed the same bits as the single device, in all that was to hold: " +
           count_text(tally.cells, "cell") + ".";
  }
  const std::int64_t failing = tally.cells - tally.cells_holding;
  if (failing == 0) return "Every cell that ran holds, but not all that was to run did: see below.";
  return count_text(failing, "cell") + " of " + grouped(tally.cells) + (failing == 1 ? " does" : " do") +
         " not hold; the first divergence of each is below.";
}

PageData outcomes(const Tally& tally) {
  PageData list = page_list();
  for (const Outcome outcome :
       {Outcome::holds, Outcome::fails, Outcome::not_run, Outcome::not_triggered, Outcome::not_applicable}) {
    const auto count = tally.outcomes.find(outcome);
    PageData entry;
    entry.set("class", to_text(outcome));
    entry.set("sign", outcome_sign(outcome));
    entry.set("words", outcome_words(outcome));
    entry.set("count", grouped(count == tally.outcomes.end() ? 0 : count->second));
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
      ++rows[{check.name, outcome_words(check.outcome) + (check.required ? "" : " (optional)"), check.reason}];
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
  const std::string word = verdict.holds ? "Holds" : "Does not hold";
  const std::string cells = grouped(tally.cells_holding) + " of " + count_text(tally.cells, "cell");
  const std::string left_out = verdict.not_run.empty() ? "" : ", " + grouped(std::ssize(verdict.not_run)) + " not run";
  const std::string name = verdict.name.empty() ? "sweep" : verdict.name;
  page.set("title", page_text(word + ": " + cells + left_out + " - " + name + " - Plumbline"));
  page.set("word", word);
  page.set("mark", outcome_sign(verdict.holds ? Outcome::holds : Outcome::fails));
  page.set("holds", PageData(verdict.holds));
  page.set("lead", page_text(lead(verdict, tally)));
  page.set("tiles", tiles(verdict, tally));
  page.set("has_counts", PageData(!verdict.counts.empty()));
  page.set("all_counts", page_text(all_counts(verdict)));
  page.set("outcomes", outcomes(tally));
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
