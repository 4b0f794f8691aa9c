// SPDX-License-Identifier: BSD-3-Clause
// A line for each case and reference with what each check compared.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// "loss: 40 losses (inspected: 3 ranks)".
std::string counted(const CheckResult& check) {
  std::string text = counts_text(check.compared);
  if (!check.inspected.empty())
    text = text.empty() ? "inspected: " + counts_text(check.inspected)
                        : fmt::format("{} (inspected: {})", text, counts_text(check.inspected));
  return check.name + (text.empty() ? "" : ": " + text);
}

/// Texts other than its counts and the usual ones.
std::string own_words(const CheckResult& check, const UsualTexts& usual) {
  std::vector<std::string> texts;
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) texts.push_back(what + text);
  };
  add("", usual.unusual_reason(check));
  add("limit: ", usual.unusual_limit(check));
  if ((check.outcome != Outcome::holds && check.outcome != Outcome::does_not_apply) || check.margin)
    add("measured: ", check.measured);
  if (check.margin) add("margin: ", short_number(*check.margin));
  add("not covered: ", join(usual.unusual_not_shown(check), "; "));
  return without_digests(join(texts, "; "));
}

std::string tally_and_time(const std::vector<CheckResult>& checks, double seconds) {
  return tally_text(checks) + ", " + seconds_text(seconds);
}

PageData line(std::size_t index, const std::string& title, const std::string& tally) {
  PageData data = page_row({{"anchor", cell_anchor(index)}, {"title", title}, {"tally", tally}});
  data.set("red", PageData(false));
  data.set("id", PageData(false));
  data.set("command", PageData(false));
  return data;
}

PageData case_line(const CellVerdict& cell, std::size_t index, const Evidence& evidence, const UsualTexts& usual) {
  PageData data = line(index, run_label(cell), tally_and_time(cell.checks, cell.seconds));
  data.set("red", PageData(!cell.holds));
  data.set("state", case_state(cell));
  if (!cell.holds) return data;
  set_text(data, "accepted", missing_words(cell.checks, true));
  data.set("checks", check_lines(cell.checks, usual, true));
  data.set("id", page_text(cell.id));
  data.set("has_record", PageData(evidence.cells.contains(cell.id)));
  data.set("has_output", PageData(evidence.launches.contains(cell.id)));
  if (const auto command = usual.unusual_command(cell); !command.empty()) data.set("command", page_text(command));
  return data;
}

/// "27 cases hold", "27 cases, 2 do not hold, 1 incomplete".
std::string state_words(std::int64_t count, std::int64_t failing, std::int64_t incomplete, const char* what) {
  std::string text = count_text(count, what);
  if (failing + incomplete == 0) return text + (count == 1 ? " holds" : " hold");
  if (failing > 0) text += fmt::format(", {} {} not hold", grouped(failing), failing == 1 ? "does" : "do");
  return text + (incomplete > 0 ? fmt::format(", {} incomplete", grouped(incomplete)) : "");
}

PageData subject_data(const std::string& title, const PageData& lines, std::int64_t count, std::int64_t failing,
                      std::int64_t incomplete, const char* what) {
  PageData data = page_row({{"title", title}, {"state", state_words(count, failing, incomplete, what)}});
  data.set("lines", lines);
  data.set("bad", PageData(failing + incomplete > 0));
  return data;
}

/// A failing reference is unfolded, because nothing links to it.
PageData references_data(const Verdict& verdict, const UsualTexts& usual) {
  PageData lines = page_list();
  std::int64_t count = 0, red = 0;
  for (std::size_t i = 0; i < verdict.references.size(); ++i) {
    const ReferenceVerdict& reference = verdict.references[i];
    if (reference.checks.empty()) continue;
    const bool holds = reference.finished && none_blocks(reference.checks);
    PageData data = line(verdict.cells.size() + i,
                         fmt::format("{} ({})", training_title(reference.model, reference.optimizer), reference.id),
                         (holds ? "" : "does not hold, ") + tally_and_time(reference.checks, reference.seconds));
    data.set("checks", check_lines(reference.checks, usual, true));
    lines.push_back(data);
    ++count;
    if (!holds) ++red;
  }
  return count == 0 ? PageData(false)
                    : subject_data("The references, each trained on one device", lines, count, red, 0, "reference");
}

}  // namespace

std::vector<Subject> subjects_of(const Verdict& verdict) {
  std::vector<Subject> subjects;
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) {
    const CellVerdict& cell = verdict.cells[i];
    auto same = std::ranges::find_if(subjects, [&](const Subject& each) {
      return each.run == cell.run && each.model == cell.model && each.optimizer == cell.optimizer;
    });
    if (same == subjects.end()) {
      const std::string title = training_title(cell.model, cell.optimizer);
      same = subjects.insert(same, {cell.run, cell.model, cell.optimizer, title, {}});
    }
    same->cells.push_back(i);
  }
  std::map<std::string, int> times;
  for (const Subject& subject : subjects) ++times[subject.title];
  for (Subject& subject : subjects) {
    if (times[subject.title] > 1) subject.title += fmt::format(" ({})", subject.run);
  }
  return subjects;
}

PageData check_lines(const std::vector<CheckResult>& checks, const UsualTexts& usual, bool blocking) {
  std::vector<std::string> held, aside;
  PageData rows = page_list();
  for (const CheckResult& check : checks) {
    if (!blocking && is_blocking(check)) continue;
    const std::string words = own_words(check, usual);
    if (check.outcome == Outcome::holds && words.empty()) {
      held.push_back(counted(check));
    } else if (check.outcome == Outcome::does_not_apply && words.empty()) {
      aside.push_back(check.name);
    } else {
      PageData row = page_row({{"check", counted(check)},
                               {"outcome", outcome_and_weight(check)},
                               {"words", words.empty() ? "" : ": " + words}});
      row.set("blocks", PageData(is_blocking(check)));
      rows.push_back(row);
    }
  }
  PageData data;
  data.set("held", page_section(join(held, "; ")));
  data.set("aside", page_section(join(aside, ", ")));
  data.set("rows", rows);
  return data;
}

void fill_cases(PageData& page, const Verdict& verdict, const Evidence& evidence, const UsualTexts& usual) {
  PageData list = page_list();
  for (const Subject& subject : subjects_of(verdict)) {
    PageData lines = page_list();
    std::int64_t red = 0, incomplete = 0;
    for (const std::size_t index : subject.cells) {
      lines.push_back(case_line(verdict.cells[index], index, evidence, usual));
      if (!verdict.cells[index].holds) ++(verdict.cells[index].incomplete() ? incomplete : red);
    }
    list.push_back(subject_data(subject.title, lines, std::ssize(subject.cells), red, incomplete, "case"));
  }
  if (const PageData references = references_data(verdict, usual); !references.is_false()) list.push_back(references);
  page.set("subjects", list);
}

void fill_usual(PageData& page, const Verdict& verdict, const UsualTexts& usual) {
  PageData rows = page_list();
  for (const UsualTexts::Of& of : usual.checks) {
    PageData row = page_row({{"check", of.check}, {"limit", of.limit}, {"reason", of.reason}});
    set_text(row, "not_shown", of.not_shown);
    set_text(row, "aside", of.aside);
    rows.push_back(row);
  }
  set_text(page, "usual_command", usual.command);
  page.set("has_usual", PageData(!verdict.cells.empty()));
  page.set("usual", rows);
}

}  // namespace plumbline
