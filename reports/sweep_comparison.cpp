#include "reports/sweep_comparison.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "reports/headline.hpp"
#include "reports/junit.hpp"
#include "reports/page_parts.hpp"
#include "reports/templates.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

std::string state_of(const CellVerdict& cell) {
  return cell.holds ? "holds" : cell.unstable() ? "unstable" : "does not hold";
}

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
      changes.push_back(check.name + ": " + was + " before, " + outcome_words(check.outcome) + " now");
    if (earlier != outcomes.end()) outcomes.erase(earlier);
  }
  for (const auto& [name, was] : outcomes) changes.push_back(name + ": " + was + " before, not there now");
  return changes;
}

std::map<std::string, std::string> machine_values(const Verdict& verdict) {
  std::map<std::string, std::string> values;
  if (!verdict.machine.is_object()) return values;
  for (const auto& [part, object] : verdict.machine.items()) {
    if (!object.is_object()) {
      values[part] = object.is_string() ? object.get<std::string>() : json_text(object);
      continue;
    }
    for (const auto& [key, value] : object.items())
      values[part + "/" + key] = value.is_string() ? value.get<std::string>() : json_text(value);
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
    if (was == is) continue;
    PageData row;
    row.set("key", page_text(key));
    row.set("before", page_text(was));
    row.set("now", page_text(is));
    rows.push_back(row);
  }
  return rows;
}

double run_seconds(const Verdict& verdict) {
  double seconds = 0;
  for (const CellVerdict& cell : verdict.cells) seconds += cell.seconds;
  for (const ReferenceVerdict& reference : verdict.references) seconds += reference.seconds;
  return seconds;
}

PageData side(const std::string& which, const Verdict& verdict) {
  PageData data;
  data.set("which", which);
  data.set("headline", page_text(headline(verdict)));
  data.set("sweep", page_text(verdict.name + (verdict.started.empty() ? "" : ", " + verdict.started)));
  const bool told =
      verdict.harness.is_object() && verdict.harness.contains("commit") && verdict.harness.at("commit").is_string();
  data.set("commit", page_text(told ? verdict.harness.at("commit").get<std::string>() : "not known"));
  data.set("seconds", seconds_text(run_seconds(verdict)));
  return data;
}

PageData change_rows(const std::vector<CellChange>& changes) {
  PageData rows = page_list();
  for (const CellChange& change : changes) {
    PageData row;
    row.set("name", page_text(change.name));
    row.set("before", change.before);
    row.set("now", change.now);
    row.set("worse", PageData(change.before == "holds" && change.now != "holds"));
    row.set("checks", page_texts(change.checks));
    rows.push_back(row);
  }
  return rows;
}

void fill_values(PageData& page, const ValuesCompared& values) {
  page.set("has_values", PageData(values.result.has_value()));
  page.set("why_not", page_text(values.why_not));
  if (!values.result) return;
  PageData rows = page_list();
  for (const auto& change : values.result->changes) {
    PageData row;
    row.set("kind", page_text(change.kind));
    row.set("where", page_text(change.where));
    row.set("words", page_text(change.words));
    rows.push_back(row);
  }
  const bool nothing = values.result->compared.empty();
  page.set("compared", page_text(nothing ? "nothing was comparable" : values.result->compared));
  page.set("values_equal", PageData(values.result->changes.empty() && !nothing));
  page.set("has_changes", PageData(!values.result->changes.empty()));
  page.set("changes", rows);
  page.set("not_compared", page_texts(values.result->not_compared));
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
  for (const CellVerdict& cell : now.cells) {
    const std::string name = suite_name(cell);
    const auto was = earlier.find(name);
    if (was == earlier.end()) {
      changes.push_back({name, "-", state_of(cell), {}});
      continue;
    }
    CellChange change{name, state_of(*was->second), state_of(cell), check_changes(*was->second, cell)};
    if (change.before != change.now || !change.checks.empty()) changes.push_back(std::move(change));
  }
  for (const CellVerdict& cell : before.cells) {
    if (const std::string name = suite_name(cell); !later.contains(name))
      changes.push_back({name, state_of(cell), "-", {}});
  }
  return changes;
}

std::string make_comparison_page(const Verdict& before, const Verdict& now, const ValuesCompared& values) {
  kainjow::mustache::mustache page{std::string(comparison_template())};
  if (!page.is_valid()) throw std::logic_error("comparison template: " + page.error_message());
  const auto changes = cell_changes(before, now);
  const auto worse = std::ranges::count_if(
      changes, [](const CellChange& change) { return change.before == "holds" && change.now != "holds"; });
  const std::int64_t moved = values.result ? std::ssize(values.result->changes) : 0;
  const bool same = changes.empty() && moved == 0;
  std::string word = same ? "The same verdict in every cell" : count_text(std::ssize(changes), "cell") + " changed";
  if (worse > 0) word += ", " + grouped(worse) + " for the worse";
  if (moved > 0) word += ", " + count_text(moved, "value") + " changed";
  PageData data, sides = page_list();
  sides.push_back(side("before", before));
  sides.push_back(side("now", now));
  data.set("style", PageData(style_sheet()));
  data.set("title", page_text(word + " - " + before.name + " and " + now.name + " - Plumbline"));
  data.set("word", page_text(word));
  data.set("bad", PageData(!now.holds || worse > 0 || moved > 0));
  data.set("sides", sides);
  data.set("cells", change_rows(changes));
  data.set("has_cells", PageData(!changes.empty()));
  const PageData environment = environment_rows(before, now);
  data.set("has_environment", PageData(environment.is_non_empty_list()));
  data.set("environment", environment);
  fill_values(data, values);
  return page.render(data);
}

}  // namespace plumbline
