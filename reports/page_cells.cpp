// World size x check for each (run, model, optimizer, schedule), and the cells that do not fit such a grid.
#include <algorithm>
#include <map>
#include <set>

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

/// Of squares that do not simply hold: these say their own; a tick says it all.
std::string hint(const CellVerdict& cell, const CheckResult& check) {
  std::string text = check.name + ", P = " + std::to_string(cell.world) + ": " + outcome_words(check.outcome);
  if (check.margin) text += ", margin " + short_number(*check.margin);
  return text;
}

PageData square(const Verdict& verdict, std::size_t index, const std::string& name) {
  const CellVerdict& cell = verdict.cells[index];
  PageData data;
  data.set("there", PageData(false));
  for (std::size_t i = 0; i < cell.checks.size(); ++i) {
    const CheckResult& check = cell.checks[i];
    if (check.name != name) continue;
    const bool holds = check.outcome == Outcome::holds;
    data.set("there", PageData(true));
    data.set("other", PageData(!holds));
    data.set("class", to_text(check.outcome) + (check.requirement == Requirement::told ? " optional" : ""));
    data.set("sign", outcome_sign(check.outcome));
    data.set("anchor", check_anchor(index, i));
    if (!holds) data.set("hint", page_text(hint(cell, check)));
    break;
  }
  return data;
}

bool all_green(const CellVerdict& cell) {
  return cell.holds && std::ranges::none_of(cell.checks, stands_in_the_way);
}

PageData grid_data(const Verdict& verdict, const Grid& grid) {
  std::vector<std::size_t> cells;
  PageData worlds = page_list(), rows = page_list();
  for (const auto& [world, cell] : grid.cells) {
    cells.push_back(cell);
    PageData head;
    head.set("world", std::to_string(world));
    head.set("anchor", cell_anchor(cell));
    worlds.push_back(head);
  }
  for (const auto& name : check_columns(verdict, cells)) {
    PageData squares = page_list();
    for (const auto cell : cells) squares.push_back(square(verdict, cell, name));
    PageData row;
    row.set("check", page_text(spaced(name)));
    row.set("squares", squares);
    rows.push_back(row);
  }
  PageData data;
  data.set("schedule", page_text(grid.schedule));
  data.set("worlds", worlds);
  data.set("rows", rows);
  return data;
}

/// "27 cells, all green", "27 cells, 2 of them not".
std::string green_words(std::int64_t cells, std::int64_t not_green) {
  return count_text(cells, "cell") +
         (not_green == 0 ? (cells == 1 ? ", green" : ", all green") : ", " + grouped(not_green) + " of them not green");
}

PageData subject_data(const Verdict& verdict, const Subject& subject, bool name_run, const UsualTexts& usual) {
  PageData grids = page_list(), details = page_list();
  std::int64_t count = 0, not_green = 0;
  for (const auto& grid : subject.grids) {
    grids.push_back(grid_data(verdict, grid));
    for (const auto& [world, cell] : grid.cells) {
      details.push_back(cell_details(verdict.cells[cell], cell, usual));
      ++count;
      if (!all_green(verdict.cells[cell])) ++not_green;
    }
  }
  PageData data;
  data.set("title",
           page_text(training_title(subject.model, subject.optimizer) + (name_run ? " (" + subject.run + ")" : "")));
  data.set("grids", grids);
  data.set("details", details);
  data.set("count", count_text(count, "cell"));
  data.set("state", green_words(count, not_green));
  data.set("open", PageData(not_green > 0));
  return data;
}

/// The run's name helps only where it tells two apart.
bool run_tells_apart(const std::vector<Subject>& subjects) {
  std::set<std::pair<std::string, std::string>> seen;
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& s) { return !seen.emplace(s.model, s.optimizer).second; });
}

}  // namespace

void fill_cells(PageData& page, const Verdict& verdict, const UsualTexts& usual) {
  const Arrangement arrangement = arrange(verdict);
  PageData subjects = page_list(), singles = page_list(), details = page_list();
  const bool name_run = run_tells_apart(arrangement.subjects);
  for (const auto& subject : arrangement.subjects) subjects.push_back(subject_data(verdict, subject, name_run, usual));
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
    details.push_back(cell_details(verdict.cells[index], index, usual));
  }
  page.set("subjects", subjects);
  page.set("has_singles", PageData(!arrangement.singles.empty()));
  page.set("single_checks", page_texts(headings));
  page.set("singles", singles);
  page.set("single_details", details);
  const auto not_green =
      std::ranges::count_if(arrangement.singles, [&](std::size_t index) { return !all_green(verdict.cells[index]); });
  page.set("singles_state", green_words(std::ssize(arrangement.singles), not_green));
  page.set("singles_open", PageData(not_green > 0));
  page.set("single_count", count_text(static_cast<std::int64_t>(arrangement.singles.size()), "cell"));
}

}  // namespace plumbline
