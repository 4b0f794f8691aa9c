// Every cell in one look: model and optimiser, schedule against world size.
#include <algorithm>
#include <map>
#include <set>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

using CellsByWorld = std::map<std::int64_t, std::vector<std::size_t>>;

struct OverviewRow {
  std::string schedule;
  CellsByWorld cells;
};

struct OverviewTable {
  std::string model, optimizer;
  std::vector<OverviewRow> rows;
};

/// In order of first appearance. Runs of one model and optimiser share a table: their cells stand side by side.
std::vector<OverviewTable> overview_tables(const Verdict& verdict) {
  std::vector<OverviewTable> tables;
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) {
    const CellVerdict& cell = verdict.cells[i];
    auto table = std::ranges::find_if(tables, [&](const OverviewTable& each) {
      return each.model == cell.model && each.optimizer == cell.optimizer;
    });
    if (table == tables.end()) table = tables.insert(tables.end(), OverviewTable{cell.model, cell.optimizer, {}});
    auto row = std::ranges::find(table->rows, cell.schedule, &OverviewRow::schedule);
    if (row == table->rows.end()) row = table->rows.insert(table->rows.end(), OverviewRow{cell.schedule, {}});
    row->cells[cell.world].push_back(i);
  }
  return tables;
}

/// A run that broke off is told apart from one that computed something else.
bool crashed(const CellVerdict& cell) {
  return std::ranges::any_of(cell.checks, [](const CheckResult& check) {
    return check.name == "completion" && check.outcome == Outcome::fails;
  });
}

PageData overview_square(const CellVerdict& cell, std::size_t index) {
  const bool broken = crashed(cell);
  PageData data;
  data.set("anchor", cell_anchor(index));
  data.set("class", cell.holds ? PageData(false)
                               : PageData(cell.unstable() ? "unstable"
                                          : broken        ? "crashed"
                                                          : "fails"));
  data.set("sign", cell.holds        ? outcome_sign(Outcome::holds)
                   : cell.unstable() ? "~"
                   : broken          ? "!"
                                     : outcome_sign(Outcome::fails));
  data.set("words", page_text(cell_title(cell) + ": " +
                              (cell.holds        ? "holds"
                               : cell.unstable() ? "unstable"
                               : broken          ? "did not end well"
                                                 : "does not hold")));
  return data;
}

PageData overview_data(const Verdict& verdict, const OverviewTable& table) {
  std::set<std::int64_t> worlds;
  for (const OverviewRow& row : table.rows) {
    for (const auto& [world, cells] : row.cells) worlds.insert(world);
  }
  PageData heads = page_list(), rows = page_list();
  for (const auto world : worlds) heads.push_back(PageData("world", std::to_string(world)));
  for (const OverviewRow& row : table.rows) {
    PageData places = page_list();
    for (const auto world : worlds) {
      PageData squares = page_list();
      if (const auto cells = row.cells.find(world); cells != row.cells.end()) {
        for (const auto index : cells->second) squares.push_back(overview_square(verdict.cells[index], index));
      }
      places.push_back(PageData("squares", squares));
    }
    PageData data;
    data.set("schedule", page_text(row.schedule));
    data.set("places", places);
    rows.push_back(data);
  }
  PageData data;
  data.set("title", page_text(training_title(table.model, table.optimizer)));
  data.set("worlds", heads);
  data.set("rows", rows);
  return data;
}

}  // namespace

void fill_overview(PageData& page, const Verdict& verdict) {
  PageData tables = page_list();
  for (const OverviewTable& table : overview_tables(verdict)) tables.push_back(overview_data(verdict, table));
  page.set("overview", tables);
}

}  // namespace plumbline
