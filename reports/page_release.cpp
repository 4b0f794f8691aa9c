// SPDX-License-Identifier: BSD-3-Clause
// For a release: what changed since the baseline, what was required, waived, and not reached.
#include <map>
#include <set>

#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

PageData baseline_data(const BaselineResult& baseline) {
  PageData changes = page_list(), environment = page_list();
  for (const auto& change : baseline.changes) {
    PageData row;
    row.set("kind", page_text(change.kind));
    row.set("where", page_text(change.where));
    row.set("words", page_text(change.words));
    changes.push_back(row);
  }
  for (const auto& difference : baseline.environment) {
    PageData row;
    row.set("key", page_text(difference.key));
    row.set("before", page_text(difference.before));
    row.set("now", page_text(difference.now));
    environment.push_back(row);
  }
  PageData data;
  data.set("name", page_text(baseline.name));
  const bool two = !baseline.commit_before.empty() && !baseline.commit_now.empty();
  data.set("commits", page_text(two ? baseline.commit_before + ".." + baseline.commit_now : "not known"));
  data.set("compared", page_text(baseline.compared.empty() ? "nothing was comparable" : baseline.compared));
  data.set("equal", PageData(baseline.changes.empty() && !baseline.compared.empty()));
  data.set("has_changes", PageData(!baseline.changes.empty()));
  data.set("changes", changes);
  data.set("has_environment", PageData(!baseline.environment.empty()));
  data.set("environment", environment);
  data.set("not_compared", page_texts(baseline.not_compared));
  data.set("has_allowed", PageData(!baseline.allowed.empty()));
  data.set("allowed", page_text(join(baseline.allowed, ", ")));
  data.set("reason", page_text(baseline.reason));
  return data;
}

/// Outcomes of one check, over all cases.
struct ReleaseCounts {
  std::int64_t hold = 0, fail = 0, unreached = 0, waived = 0, aside = 0, not_asked = 0;
  std::map<std::int64_t, std::int64_t> held, blocked;  ///< by world size
};

PageData world_squares(const std::set<std::int64_t>& worlds, const ReleaseCounts& of) {
  PageData squares = page_list();
  for (const std::int64_t world : worlds) {
    const bool held = of.held.contains(world), blocked = of.blocked.contains(world);
    PageData square;
    square.set("class", blocked ? "fails" : held ? "holds" : "");
    square.set("sign", blocked ? outcome_sign(Outcome::fails) + " " + grouped(of.blocked.at(world))
                       : held  ? outcome_sign(Outcome::holds)
                               : outcome_sign(Outcome::not_applicable));
    squares.push_back(square);
  }
  return squares;
}

void fill_release_rows(PageData& page, const Verdict& verdict) {
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
      } else if (check.outcome == Outcome::fails) {
        ++of.fail;
      } else if (check.outcome == Outcome::not_applicable) {
        ++of.aside;
      } else if (!asked_for(verdict, check)) {
        ++of.not_asked;
      } else {
        ++(check.requirement == Requirement::required ? of.unreached : of.waived);
      }
    }
  }
  PageData rows = page_list();
  for (const auto& name : names) {
    const ReleaseCounts& of = counts[name];
    PageData row;
    row.set("check", page_text(name));
    row.set("hold", grouped(of.hold));
    row.set("fail", grouped(of.fail));
    row.set("unreached", grouped(of.unreached));
    row.set("waived", grouped(of.waived));
    row.set("not_asked", grouped(of.not_asked));
    row.set("aside", grouped(of.aside));
    row.set("bad", PageData(of.fail + of.unreached > 0));
    row.set("squares", world_squares(worlds, of));
    rows.push_back(row);
  }
  PageData heads = page_list();
  for (const std::int64_t world : worlds) heads.push_back(PageData("world", std::to_string(world)));
  page.set("release_worlds", heads);
  page.set("release", rows);
}

}  // namespace

void fill_release(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  page.set("baseline", evidence.baseline ? baseline_data(*evidence.baseline) : PageData(false));
  fill_release_rows(page, verdict);
}

}  // namespace plumbline
