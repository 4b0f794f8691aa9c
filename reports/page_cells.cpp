// World size x check for each (run, model, optimizer, schedule), and the cells that do not fit such a grid.
#include <algorithm>
#include <map>
#include <set>

#include "record/check_claims.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

struct Grid {
  std::string schedule;
  std::map<std::int64_t, std::size_t> cells;  ///< by world size, index into the verdict's cells
};

/// What one reference serves: all grids share it.
struct Subject {
  std::string run, model, optimizer;
  std::vector<Grid> grids;
};

struct Arrangement {
  std::vector<Subject> subjects;
  std::vector<std::size_t> singles;
};

template <typename Item, typename Same>
Item& find_or_add(std::vector<Item>& items, Item fresh, Same same) {
  const auto found = std::find_if(items.begin(), items.end(), same);
  if (found != items.end()) return *found;
  items.push_back(std::move(fresh));
  return items.back();
}

/// In order of first appearance. A second cell at one place of a grid (other lengths, say) stands on its own.
Arrangement arrange(const Verdict& verdict) {
  Arrangement arrangement;
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) {
    const CellVerdict& cell = verdict.cells[i];
    if (!cell.balance.empty()) {
      arrangement.singles.push_back(i);
      continue;
    }
    Subject& subject = find_or_add(
        arrangement.subjects, Subject{cell.run, cell.model, cell.optimizer, {}},
        [&](const Subject& s) { return s.run == cell.run && s.model == cell.model && s.optimizer == cell.optimizer; });
    Grid& grid =
        find_or_add(subject.grids, Grid{cell.schedule, {}}, [&](const Grid& g) { return g.schedule == cell.schedule; });
    if (!grid.cells.emplace(cell.world, i).second) arrangement.singles.push_back(i);
  }
  return arrangement;
}

std::vector<std::string> check_columns(const Verdict& verdict, const std::vector<std::size_t>& cells) {
  std::vector<std::string> names;
  for (const auto cell : cells) {
    for (const auto& check : verdict.cells[cell].checks) {
      if (std::find(names.begin(), names.end(), check.name) == names.end()) names.push_back(check.name);
    }
  }
  return names;
}

std::string hint(const CellVerdict& cell, const CheckResult& check) {
  std::string text = check.name + ", P = " + std::to_string(cell.world) + ": " + outcome_words(check.outcome);
  if (check.margin) text += ", margin " + short_number(*check.margin);
  if (const auto seen = counts_text(check.compared); !seen.empty()) text += " (compared " + seen + ")";
  return text;
}

PageData square(const Verdict& verdict, std::size_t index, const std::string& name) {
  const CellVerdict& cell = verdict.cells[index];
  PageData data;
  data.set("there", PageData(false));
  for (std::size_t i = 0; i < cell.checks.size(); ++i) {
    const CheckResult& check = cell.checks[i];
    if (check.name != name) continue;
    const bool told = check.requirement == Requirement::told && check.outcome != Outcome::holds;
    data.set("there", PageData(true));
    data.set("class", to_text(check.outcome) + (told ? " optional" : ""));
    data.set("sign", outcome_sign(check.outcome));
    data.set("anchor", check_anchor(index, i));
    data.set("hint", page_text(hint(cell, check)));
    break;
  }
  return data;
}

PageData grid_data(const Verdict& verdict, const Grid& grid) {
  std::vector<std::size_t> cells;
  PageData worlds = page_list(), rows = page_list();
  for (const auto& [world, cell] : grid.cells) {
    cells.push_back(cell);
    PageData head;
    head.set("world", std::to_string(world));
    head.set("anchor", cell_anchor(cell));
    head.set("title", page_text(verdict.cells[cell].id));
    worlds.push_back(head);
  }
  for (const auto& name : check_columns(verdict, cells)) {
    PageData squares = page_list();
    for (const auto cell : cells) squares.push_back(square(verdict, cell, name));
    PageData row;
    row.set("check", page_text(spaced(name)));
    if (const std::string claim = claim_of_check(name); !claim.empty())
      row.set("claim", page_text("Where it holds: " + claim));
    row.set("squares", squares);
    rows.push_back(row);
  }
  PageData data;
  data.set("schedule", page_text(grid.schedule));
  data.set("worlds", worlds);
  data.set("rows", rows);
  return data;
}

PageData subject_data(const Verdict& verdict, const Subject& subject, bool name_run) {
  PageData grids = page_list(), details = page_list();
  std::int64_t count = 0;
  for (const auto& grid : subject.grids) {
    grids.push_back(grid_data(verdict, grid));
    for (const auto& [world, cell] : grid.cells) {
      details.push_back(cell_details(verdict.cells[cell], cell));
      ++count;
    }
  }
  PageData data;
  data.set("title", page_text(subject.model + ", " + subject.optimizer + (name_run ? " (" + subject.run + ")" : "")));
  data.set("grids", grids);
  data.set("details", details);
  data.set("count", count_text(count, "cell"));
  return data;
}

/// The run's name helps only where it tells two apart.
bool run_tells_apart(const std::vector<Subject>& subjects) {
  std::set<std::pair<std::string, std::string>> seen;
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& s) { return !seen.emplace(s.model, s.optimizer).second; });
}

}  // namespace

namespace {

PageData check_rows(const std::vector<CheckResult>& checks, std::size_t index) {
  PageData rows = page_list();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const CheckResult& check = checks[i];
    const bool judged = check.outcome == Outcome::holds || check.outcome == Outcome::fails;
    PageData row;
    row.set("anchor", check_anchor(index, i));
    row.set("name", page_text(check.name));
    row.set("outcome", outcome_words(check.outcome));
    row.set("blocks", PageData(stands_in_the_way(check)));
    row.set("told", PageData(check.requirement == Requirement::told));
    row.set("compared", page_text(counts_text(check.compared)));
    row.set("looked_at", page_text(counts_text(check.looked_at)));
    row.set("limit", page_text(check.limit));
    row.set("measured", page_text(check.measured));
    row.set("margin", check.margin ? short_number(*check.margin) : judged ? "exact" : "-");
    row.set("reason", page_text(check.reason));
    row.set("not_shown", page_texts(check.not_shown));
    row.set("has_place", PageData(check.first_divergence.has_value()));
    row.set("place", page_text(check.first_divergence ? place_text(*check.first_divergence) : ""));
    rows.push_back(row);
  }
  return rows;
}

std::string tally_text(const std::vector<CheckResult>& checks, double seconds) {
  const auto with = [&](Outcome outcome) { return std::ranges::count(checks, outcome, &CheckResult::outcome); };
  const auto aside = with(Outcome::not_applicable);
  std::string text = grouped(with(Outcome::holds)) + " of " + count_text(std::ssize(checks) - aside, "check") + " hold";
  if (aside > 0) text += ", " + grouped(aside) + " not applicable";
  return text + ", " + seconds_text(seconds);
}

PageData details(const std::string& anchor, const std::string& title, bool holds, const std::string& state,
                 const std::string& tally, const PageData& rows, const std::string& command) {
  PageData data;
  data.set("anchor", anchor);
  data.set("title", page_text(title));
  data.set("holds", PageData(holds));
  data.set("state", state);
  data.set("tally", tally);
  data.set("checks", rows);
  data.set("has_command", PageData(!command.empty()));
  data.set("command", page_text(command));
  return data;
}

/// The references stand behind the cells in the numbering of anchors.
PageData reference_checks(const Verdict& verdict) {
  PageData list = page_list();
  for (std::size_t i = 0; i < verdict.references.size(); ++i) {
    const ReferenceVerdict& reference = verdict.references[i];
    if (reference.checks.empty()) continue;
    const std::size_t index = verdict.cells.size() + i;
    const bool holds = reference.finished && std::ranges::none_of(reference.checks, stands_in_the_way);
    list.push_back(details(cell_anchor(index), reference.model + ", " + reference.optimizer + " (" + reference.id + ")",
                           holds, holds ? "nothing in the way" : "does not hold",
                           tally_text(reference.checks, reference.seconds), check_rows(reference.checks, index), ""));
  }
  return list;
}

}  // namespace

PageData cell_details(const CellVerdict& cell, std::size_t index) {
  return details(cell_anchor(index), cell_title(cell), cell.holds,
                 cell.holds        ? "holds"
                 : cell.unstable() ? "unstable"
                                   : "does not hold",
                 tally_text(cell.checks, cell.seconds), check_rows(cell.checks, index), cell.command);
}

void fill_cells(PageData& page, const Verdict& verdict) {
  const Arrangement arrangement = arrange(verdict);
  PageData subjects = page_list(), singles = page_list(), details = page_list();
  const bool name_run = run_tells_apart(arrangement.subjects);
  for (const auto& subject : arrangement.subjects) subjects.push_back(subject_data(verdict, subject, name_run));
  const auto columns = check_columns(verdict, arrangement.singles);
  std::vector<std::string> headings;
  for (const auto& name : columns) headings.push_back(spaced(name));
  for (const auto index : arrangement.singles) {
    PageData squares = page_list();
    for (const auto& name : columns) squares.push_back(square(verdict, index, name));
    PageData row;
    row.set("title", page_text(cell_title(verdict.cells[index])));
    row.set("anchor", cell_anchor(index));
    row.set("squares", squares);
    singles.push_back(row);
    details.push_back(cell_details(verdict.cells[index], index));
  }
  page.set("subjects", subjects);
  page.set("has_singles", PageData(!arrangement.singles.empty()));
  page.set("single_checks", page_texts(headings));
  page.set("singles", singles);
  page.set("single_details", details);
  const PageData references = reference_checks(verdict);
  page.set("has_reference_checks", PageData(references.is_non_empty_list()));
  page.set("reference_checks", references);
  page.set("single_count", count_text(static_cast<std::int64_t>(arrangement.singles.size()), "cell"));
}

}  // namespace plumbline
