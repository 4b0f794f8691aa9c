// What was found of one cell, check by check, and what the checks usually say.
#include <algorithm>

#include "record/check_claims.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

bool says_nothing(const CheckResult& check, const UsualTexts& usual) {
  return check.outcome == Outcome::not_applicable && usual.unusual_reason(check).empty() &&
         usual.unusual_limit(check).empty() && usual.unusual_not_shown(check).empty() && check.compared.empty() &&
         check.looked_at.empty();
}

/// The checks that say nothing of the cell, by name.
PageData checks_aside(const std::vector<CheckResult>& checks, std::size_t index, const UsualTexts& usual) {
  PageData names = page_list();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!says_nothing(checks[i], usual)) continue;
    PageData name;
    name.set("anchor", check_anchor(index, i));
    name.set("name", page_text(checks[i].name));
    names.push_back(name);
  }
  return names;
}

/// A row a check that says something. What holds as it usually does says no more than its counts.
PageData check_rows(const std::vector<CheckResult>& checks, std::size_t index, const UsualTexts& usual) {
  PageData rows = page_list();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const CheckResult& check = checks[i];
    if (says_nothing(check, usual)) continue;
    const bool holds = check.outcome == Outcome::holds;
    std::vector<std::string> texts;
    const auto add = [&](const char* what, const std::string& text) {
      if (!text.empty()) texts.push_back(what + text);
    };
    add("", usual.unusual_reason(check));
    add("limit: ", usual.unusual_limit(check));
    if (!holds || check.margin) add("measured: ", check.measured);
    if (check.margin) add("margin: ", short_number(*check.margin));
    PageData row;
    row.set("anchor", check_anchor(index, i));
    row.set("name", page_text(check.name));
    row.set("outcome", outcome_words(check.outcome));
    row.set("blocks", PageData(stands_in_the_way(check)));
    row.set("told", PageData(check.requirement == Requirement::told));
    row.set("compared", page_text(counts_text(check.compared)));
    row.set("looked_at", page_text(counts_text(check.looked_at)));
    row.set("words", page_text(join(texts, "; ")));
    row.set("not_shown", page_texts(usual.unusual_not_shown(check)));
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
                 const std::string& tally, const PageData& rows, const PageData& aside, const std::string& command) {
  PageData data;
  data.set("anchor", anchor);
  data.set("title", page_text(title));
  data.set("holds", PageData(holds));
  data.set("state", state);
  data.set("tally", tally);
  data.set("checks", rows);
  data.set("has_aside", PageData(aside.is_non_empty_list()));
  data.set("aside", aside);
  data.set("has_id", PageData(false));
  data.set("has_command", PageData(!command.empty()));
  data.set("command", page_text(command));
  return data;
}

/// The references stand behind the cells in the numbering of anchors.
PageData reference_checks(const Verdict& verdict, const UsualTexts& usual) {
  PageData list = page_list();
  for (std::size_t i = 0; i < verdict.references.size(); ++i) {
    const ReferenceVerdict& reference = verdict.references[i];
    if (reference.checks.empty()) continue;
    const std::size_t index = verdict.cells.size() + i;
    const bool holds = reference.finished && std::ranges::none_of(reference.checks, stands_in_the_way);
    list.push_back(
        details(cell_anchor(index), training_title(reference.model, reference.optimizer) + " (" + reference.id + ")",
                holds, holds ? "nothing in the way" : "does not hold", tally_text(reference.checks, reference.seconds),
                check_rows(reference.checks, index, usual), checks_aside(reference.checks, index, usual), ""));
  }
  return list;
}

}  // namespace

PageData cell_details(const CellVerdict& cell, std::size_t index, const UsualTexts& usual) {
  PageData data = details(cell_anchor(index), cell_title(cell), cell.holds,
                          cell.holds        ? "holds"
                          : cell.unstable() ? "unstable"
                                            : "does not hold",
                          tally_text(cell.checks, cell.seconds), check_rows(cell.checks, index, usual),
                          checks_aside(cell.checks, index, usual), usual.unusual_command(cell));
  data.set("has_id", PageData(true));
  data.set("id", page_text(cell.id));
  return data;
}

void fill_usual(PageData& page, const Verdict& verdict, const UsualTexts& usual) {
  PageData rows = page_list();
  for (const UsualTexts::Of& of : usual.checks) {
    PageData row;
    row.set("check", page_text(of.check));
    row.set("claim", page_text(claim_of_check(of.check)));
    row.set("limit", page_text(of.limit));
    row.set("reason", page_text(of.reason));
    row.set("has_not_shown", PageData(!of.not_shown.empty()));
    row.set("not_shown", page_text(of.not_shown));
    row.set("has_aside", PageData(!of.aside.empty()));
    row.set("aside", page_text(of.aside));
    rows.push_back(row);
  }
  page.set("has_usual_command", PageData(!usual.command.empty()));
  page.set("usual_command", page_text(usual.command));
  page.set("has_usual", PageData(!verdict.cells.empty()));
  page.set("usual", rows);
}

void fill_references(PageData& page, const Verdict& verdict, const UsualTexts& usual) {
  const PageData references = reference_checks(verdict, usual);
  page.set("has_reference_checks", PageData(references.is_non_empty_list()));
  page.set("reference_checks", references);
}

}  // namespace plumbline
