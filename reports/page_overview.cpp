// SPDX-License-Identifier: BSD-3-Clause
// All cases as squares: per run, schedule by world size.
#include <algorithm>
#include <compare>
#include <map>
#include <string>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

struct Size {
  std::int64_t world = 0, replicas = 1;
  auto operator<=>(const Size&) const = default;
};

using CellsBySize = std::map<Size, std::vector<std::size_t>>;

struct OverviewRow {
  std::string schedule;  ///< with whatever else distinguishes these cases of the run
  CellsBySize cells;
};

/// In order of first appearance.
std::vector<OverviewRow> rows_of(const Verdict& verdict, const Subject& subject) {
  std::vector<OverviewRow> rows;
  for (const std::size_t i : subject.cells) {
    const CellVerdict& cell = verdict.cells[i];
    const std::string label = schedule_label(cell);
    auto row = std::ranges::find(rows, label, &OverviewRow::schedule);
    if (row == rows.end()) row = rows.insert(rows.end(), OverviewRow{label, {}});
    row->cells[{cell.world, cell.replicas}].push_back(i);
  }
  return rows;
}

bool crashed(const CellVerdict& cell) {
  return std::ranges::any_of(cell.checks, [](const CheckResult& check) {
    return check.name == "completion" && check.outcome == Outcome::differs;
  });
}

struct Look {
  const char* name;  ///< of the style, and of the entry in the legend
  const char* sign;
  const char* words;
};
constexpr Look look_holds{"holds", "\u2713", "holds"}, look_fails{"fails", "\u2717", "does not hold"},
    look_crashed{"crashed", "!", "crashed or timed out"}, look_unstable{"unstable", "~", "unstable"},
    look_incomplete{"incomplete", "?", "incomplete"};

const Look& look_of(const CellVerdict& cell) {
  if (cell.holds) return look_holds;
  if (cell.incomplete()) return look_incomplete;
  if (cell.unstable()) return look_unstable;
  return crashed(cell) ? look_crashed : look_fails;
}

PageData overview_square(const CellVerdict& cell) {
  const Look& look = look_of(cell);
  PageData data = page_row({{"anchor", cell.id},
                            {"world", size_text(cell)},
                            {"sign", look.sign},
                            {"words", cell_title(cell) + ": " + look.words}});
  data.set("class", cell.holds ? PageData(false) : PageData(look.name));
  return data;
}

/// The looks in use, each once.
PageData legend(const Verdict& verdict) {
  PageData list = page_list();
  for (const Look* look : {&look_holds, &look_fails, &look_crashed, &look_unstable, &look_incomplete}) {
    const auto count = std::ranges::count_if(verdict.cells, [&](const auto& cell) { return &look_of(cell) == look; });
    if (count == 0) continue;
    list.push_back(
        page_row({{"class", look->name}, {"sign", look->sign}, {"words", look->words}, {"count", grouped(count)}}));
  }
  return list;
}

PageData overview_data(const Verdict& verdict, const Subject& subject) {
  const std::vector<OverviewRow> of_run = rows_of(verdict, subject);
  std::map<Size, std::string> worlds;  // with their texts
  for (const OverviewRow& row : of_run) {
    for (const auto& [size, cells] : row.cells) worlds[size] = size_text(verdict.cells[cells.front()]);
  }
  PageData heads = page_list(), rows = page_list();
  for (const auto& [size, words] : worlds) heads.push_back(PageData("world", words));
  for (const OverviewRow& row : of_run) {
    PageData places = page_list();
    for (const auto& [size, words] : worlds) {
      PageData squares = page_list();
      if (const auto cells = row.cells.find(size); cells != row.cells.end()) {
        for (const auto index : cells->second) squares.push_back(overview_square(verdict.cells[index]));
      }
      places.push_back(PageData("squares", squares));
    }
    PageData data = page_row({{"schedule", row.schedule}});
    data.set("places", places);
    rows.push_back(data);
  }
  const bool several = std::ranges::any_of(worlds, [](const auto& each) { return each.first.replicas > 1; });
  PageData data = page_row({{"title", subject.title}, {"axis", several ? "replicas x ranks, R x P" : "world size P"}});
  data.set("worlds", heads);
  data.set("rows", rows);
  return data;
}

}  // namespace

void fill_overview(PageData& page, const Verdict& verdict) {
  PageData tables = page_list();
  for (const Subject& subject : subjects_of(verdict)) tables.push_back(overview_data(verdict, subject));
  page.set("overview", tables);
  page.set("legend", legend(verdict));
}

}  // namespace plumbline
