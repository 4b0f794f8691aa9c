// SPDX-License-Identifier: BSD-3-Clause
// For a release: what holds at each world size, what differs, and what is incomplete.
#include <algorithm>
#include <map>
#include <set>

#include "reports/headline.hpp"
#include "reports/mission_figures.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Outcomes of one check, over all cases.
struct ReleaseCounts {
  std::int64_t hold = 0, fail = 0, incomplete = 0, not_required = 0, aside = 0, not_asked = 0;
  std::map<std::int64_t, std::int64_t> held, blocked;  ///< by world size
};

PageData world_squares(const std::set<std::int64_t>& worlds, const ReleaseCounts& of) {
  PageData squares = page_list();
  for (const std::int64_t world : worlds) {
    const bool held = of.held.contains(world), blocked = of.blocked.contains(world);
    squares.push_back(page_row({{"class", blocked ? "fails"
                                          : held  ? "holds"
                                                  : ""},
                                {"sign", blocked ? outcome_sign(Outcome::differs) + " " + grouped(of.blocked.at(world))
                                                 : outcome_sign(held ? Outcome::holds : Outcome::does_not_apply)}}));
  }
  return squares;
}

}  // namespace

void fill_figures(PageData& page, const Verdict& verdict) {
  PageData figure_rows = page_list(), figure_columns = page_list();
  for (const std::string& head : figure_heads()) figure_columns.push_back(page_row({{"head", head}}));
  for (const MissionFigures& figures : mission_figures(verdict)) {
    PageData row = page_row({{"world", grouped(figures.world)}}), cells = page_list();
    auto head = figure_heads().begin();
    for (const std::string& text : figure_texts(figures))
      cells.push_back(page_row({{"text", text}, {"head", *head++}}));
    row.set("figures", cells);
    figure_rows.push_back(row);
  }
  page.set("figure_heads", figure_columns);
  page.set("figure_rows", figure_rows);
}

void fill_release(PageData& page, const Verdict& verdict) {
  std::vector<std::string> names;
  std::set<std::int64_t> worlds;
  std::map<std::string, ReleaseCounts> counts;
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      if (!counts.contains(check.name)) names.push_back(check.name);
      ReleaseCounts& of = counts[check.name];
      worlds.insert(cell.world);
      if (check.outcome == Outcome::holds) ++of.held[cell.world];
      if (is_blocking(check)) ++of.blocked[cell.world];
      if (check.outcome == Outcome::holds) {
        ++of.hold;
      } else if (check.outcome == Outcome::differs) {
        ++of.fail;
      } else if (check.outcome == Outcome::does_not_apply) {
        ++of.aside;
      } else if (!asked_for(verdict, check)) {
        ++of.not_asked;
      } else {
        ++(is_blocking(check) ? of.incomplete : of.not_required);
      }
    }
  }
  PageData rows = page_list();
  for (const auto& name : names) {
    const ReleaseCounts& of = counts[name];
    PageData row = page_row({{"check", name},
                             {"hold", grouped(of.hold)},
                             {"fail", grouped(of.fail)},
                             {"incomplete", grouped(of.incomplete)},
                             {"not_required", grouped(of.not_required)},
                             {"not_asked", grouped(of.not_asked)},
                             {"aside", grouped(of.aside)}});
    row.set("bad", PageData(of.fail + of.incomplete > 0));
    row.set("squares", world_squares(worlds, of));
    rows.push_back(row);
  }
  PageData heads = page_list();
  for (const std::int64_t world : worlds) heads.push_back(PageData("world", std::to_string(world)));
  page.set("release_worlds", heads);
  page.set("release", rows);
}

}  // namespace plumbline
