// SPDX-License-Identifier: BSD-3-Clause
#include "reports/sweep_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "reports/headline.hpp"
#include "reports/junit.hpp"
#include "reports/page_parts.hpp"
#include "reports/templates.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::map<std::string, const CellVerdict*> cells_by_name(const Verdict& verdict) {
  std::map<std::string, const CellVerdict*> cells;
  for (const CellVerdict& cell : verdict.cells) cells.emplace(suite_name(cell), &cell);
  return cells;
}

std::vector<std::string> check_changes(const CellVerdict& before, const CellVerdict& now) {
  std::map<std::string, std::string> outcomes;
  for (const CheckResult& check : before.checks) outcomes[check.name] = outcome_words(check.outcome);
  std::vector<std::string> changes;
  for (const CheckResult& check : now.checks) {
    const auto earlier = outcomes.find(check.name);
    const std::string was = earlier == outcomes.end() ? "not there" : earlier->second;
    if (was != outcome_words(check.outcome))
      changes.push_back(fmt::format("{}: {} before, {} now", check.name, was, outcome_words(check.outcome)));
    if (earlier != outcomes.end()) outcomes.erase(earlier);
  }
  for (const auto& [name, was] : outcomes) changes.push_back(fmt::format("{}: {} before, not there now", name, was));
  return changes;
}

std::map<std::string, std::string> machine_values(const Verdict& verdict) {
  std::map<std::string, std::string> values;
  if (!verdict.machine.is_object()) return values;
  for (const auto& [part, object] : verdict.machine.items()) {
    if (!object.is_object()) {
      values[part] = unquoted(object);
      continue;
    }
    for (const auto& [key, value] : object.items()) values[part + "/" + key] = unquoted(value);
  }
  return values;
}

PageData environment_rows(const Verdict& before, const Verdict& now) {
  const auto one = machine_values(before), other = machine_values(now);
  std::set<std::string> keys;
  for (const auto& [key, value] : one) keys.insert(key);
  for (const auto& [key, value] : other) keys.insert(key);
  PageData rows = page_list();
  for (const std::string& key : keys) {
    const std::string was = one.contains(key) ? one.at(key) : "-", is = other.contains(key) ? other.at(key) : "-";
    if (was != is) rows.push_back(page_row({{"key", key}, {"before", was}, {"now", is}}));
  }
  return rows;
}

PageData side(const std::string& which, const Verdict& verdict, const std::string& page) {
  PageData data = page_row({{"which", which},
                            {"headline", headline(verdict)},
                            {"sweep", verdict.name + (verdict.started.empty() ? "" : ", " + verdict.started)},
                            {"commit", judge_commit(verdict).value_or("not known")},
                            {"seconds", seconds_text(run_seconds(verdict))}});
  data.set("page", page_section(page, "href"));
  return data;
}

PageData change_rows(const std::vector<CellChange>& changes, const std::string& page) {
  PageData rows = page_list();
  for (const CellChange& change : changes) {
    PageData row = page_row(
        {{"name", change.name}, {"before", change.before}, {"now", change.now == "-" ? "was not run" : change.now}});
    const bool linked = !page.empty() && change.place;
    row.set("link", page_section(linked ? page + "#" + cell_anchor(*change.place) : "", "href"));
    row.set("bad", PageData(change.red() || (change.now == "-" && change.before == "holds")));
    row.set("checks", page_texts(change.checks));
    rows.push_back(row);
  }
  return rows;
}

struct ChangeCounts {
  std::int64_t holding = 0, worse = 0, red_in_both = 0, new_red = 0, fresh = 0, gone = 0, better = 0;
};

ChangeCounts counts_of(const std::vector<CellChange>& changes, const Verdict& now) {
  ChangeCounts counts;
  counts.holding = std::ranges::count_if(now.cells, [](const CellVerdict& cell) { return cell.holds; });
  for (const CellChange& change : changes) {
    const bool was_there = change.before != "-", held = change.before == "holds";
    counts.gone += change.now == "-" ? 1 : 0;
    counts.fresh += was_there ? 0 : 1;
    counts.new_red += !was_there && change.red() ? 1 : 0;
    counts.worse += held && change.red() ? 1 : 0;
    counts.red_in_both += was_there && !held && change.red() ? 1 : 0;
    counts.better += was_there && !held && change.now == "holds" ? 1 : 0;
  }
  return counts;
}

/// "3 cases do not hold any more, 2 new cases do not hold"; states if nothing changed.
std::string word_of(const ChangeCounts& counts, std::int64_t changed, std::int64_t values) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what, const char* one, const char* several) {
    if (count > 0) parts.push_back(count_text(count, what) + (count == 1 ? one : several));
  };
  add(counts.worse, "case", " does not hold any more", " do not hold any more");
  add(counts.new_red, "new case", " does not hold", " do not hold");
  add(counts.red_in_both, "case", " does not hold in both", " do not hold in both");
  add(counts.gone, "case", " was not run any more", " were not run any more");
  add(counts.better, "case", " holds now", " hold now");
  add(counts.fresh - counts.new_red, "new case", " holds", " hold");
  add(values, "run", " has other bits or bytes", " have other bits or bytes");
  if (!parts.empty()) return join(parts, ", ");
  return changed == 0 ? "The same verdict in every case" : "Other outcomes of checks in " + count_text(changed, "case");
}

PageData count_tiles(const ChangeCounts& counts) {
  PageData tiles = page_list();
  for (const auto& [count, label] : {std::pair{counts.holding, "hold now"},
                                     {counts.worse, "do not hold any more"},
                                     {counts.red_in_both, "do not hold in both"},
                                     {counts.fresh, "are new"},
                                     {counts.gone, "were not run any more"}})
    tiles.push_back(page_row({{"value", grouped(count)}, {"label", label}}));
  return tiles;
}

/// Cases by their titles, as in the table of cases.
ValuesCompared with_titles(ValuesCompared values, const Verdict& now) {
  if (!values.result) return values;
  for (BaselineResult::Change& change : values.result->changes) {
    const auto cell = std::ranges::find(now.cells, change.where, &CellVerdict::id);
    if (cell != now.cells.end()) change.where = cell_title(*cell);
  }
  return values;
}

void fill_values(PageData& page, const ValuesCompared& values) {
  page.set("has_values", PageData(values.result.has_value()));
  page.set("why_not", page_text(values.why_not));
  if (!values.result) return;
  set_values_compared(page, *values.result);
  page.set("values_equal", PageData(values.result->changes.empty() && !values.result->compared.empty()));
}

std::string style_sheet() {
  const std::string text = page_template();
  const auto begin = text.find("<style>"), end = text.find("</style>");
  if (begin == std::string::npos || end == std::string::npos) throw std::logic_error("page template: no style sheet");
  return text.substr(begin, end - begin) + "</style>";
}

}  // namespace

std::vector<CellChange> cell_changes(const Verdict& before, const Verdict& now) {
  const auto earlier = cells_by_name(before), later = cells_by_name(now);
  std::vector<CellChange> changes;
  for (std::size_t i = 0; i < now.cells.size(); ++i) {
    const CellVerdict& cell = now.cells[i];
    const auto was = earlier.find(suite_name(cell));
    CellChange change{cell_title(cell), "-", case_state(cell), {}, i};
    if (was != earlier.end()) {
      change.before = case_state(*was->second);
      change.checks = check_changes(*was->second, cell);
    }
    if (change.red() || change.before != change.now || !change.checks.empty()) changes.push_back(std::move(change));
  }
  for (const CellVerdict& cell : before.cells) {
    if (!later.contains(suite_name(cell))) changes.push_back({cell_title(cell), case_state(cell), "-", {}, {}});
  }
  std::stable_partition(changes.begin(), changes.end(), std::mem_fn(&CellChange::red));
  return changes;
}

std::string make_comparison_page(const Verdict& before, const Verdict& now, const ValuesCompared& values,
                                 const ComparedPages& pages) {
  kainjow::mustache::mustache page{std::string(comparison_template())};
  if (!page.is_valid()) throw std::logic_error("comparison template: " + page.error_message());
  const auto changes = cell_changes(before, now);
  const ChangeCounts counts = counts_of(changes, now);
  const auto value_changes = values.result ? values.result->changes : std::vector<BaselineResult::Change>{};
  std::set<std::string> moved;  // runs
  for (const auto& [kind, where, words] : value_changes)
    if (kind != "coverage") moved.insert(where);
  const std::string word = word_of(counts, std::ssize(changes), std::ssize(moved));
  const bool bad = !now.holds || counts.worse + counts.gone > 0 || !value_changes.empty();
  PageData data, sides = page_list();
  sides.push_back(side("before", before, pages.before));
  sides.push_back(side("now", now, pages.now));
  data.set("style", PageData(style_sheet()));
  data.set("title", page_text(fmt::format("{} - {} and {} - Plumbline", word, before.name, now.name)));
  data.set("word", page_text(word));
  data.set("bad", PageData(bad));
  data.set("mark", outcome_sign(bad ? Outcome::fails : Outcome::holds));
  data.set("tiles", count_tiles(counts));
  data.set("sides", sides);
  set_list(data, "cells", change_rows(changes, pages.now));
  set_list(data, "environment", environment_rows(before, now));
  fill_values(data, with_titles(values, now));
  return page.render(data);
}

}  // namespace plumbline
