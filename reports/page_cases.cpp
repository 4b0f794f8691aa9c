// SPDX-License-Identifier: BSD-3-Clause
// A line for each case and reference with what each check compared.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/headline.hpp"
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

/// The findings of a check that does not hold; the margin of one that compares within limits.
std::string own_words(const CheckResult& check) {
  if (check.outcome == Outcome::does_not_apply) return "";
  std::vector<std::string> texts;
  if (check.outcome != Outcome::holds) texts.push_back(check.reason);
  if (check.margin) texts.push_back("measured: " + check.measured + "; margin: " + short_number(*check.margin));
  return without_digests(join(texts, "; "));
}

std::string tally_and_time(const std::vector<CheckResult>& checks, double seconds) {
  return tally_text(checks) + ", " + seconds_text(seconds);
}

PageData line(const std::string& anchor, const std::string& title, const std::string& tally) {
  PageData data = page_row({{"anchor", anchor}, {"title", title}, {"tally", tally}, {"search", title + " " + anchor}});
  data.set("red", PageData(false));
  data.set("id", PageData(false));
  data.set("command", PageData(false));
  return data;
}

PageData case_line(const Verdict& verdict, const CellVerdict& cell, const Evidence& evidence) {
  PageData data = line(cell.id, run_label(cell), tally_and_time(cell.checks, cell.seconds));
  data.set("red", PageData(!cell.holds));
  data.set("state", case_state(cell));
  if (!cell.holds) return data;
  set_text(data, "accepted", missing_words(cell.checks, true));
  data.set("checks", check_lines(cell.checks));
  data.set("id", page_text(cell.id));
  data.set("has_output", PageData(evidence.launches.contains(cell.id)));
  data.set("command", page_section(from_its_folder(verdict, cell.command), "command"));
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
PageData references_data(const Verdict& verdict) {
  PageData lines = page_list();
  std::int64_t count = 0, red = 0;
  for (const ReferenceVerdict& reference : verdict.references) {
    if (reference.checks.empty()) continue;
    const bool holds = reference.finished && none_blocks(reference.checks);
    PageData data = line("reference-" + reference.id,
                         fmt::format("{} ({})", training_title(reference.model, reference.optimizer), reference.id),
                         (holds ? "" : "does not hold, ") + tally_and_time(reference.checks, reference.seconds));
    data.set("checks", check_lines(reference.checks));
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

PageData check_lines(const std::vector<CheckResult>& checks) {
  std::vector<std::string> holding, aside;
  PageData rows = page_list();
  for (const CheckResult& check : checks) {
    const std::string words = own_words(check);
    if (check.outcome == Outcome::holds && words.empty()) {
      holding.push_back(counted(check));
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
  data.set("holding", page_section(join(holding, "; ")));
  data.set("aside", page_section(join(aside, ", ")));
  data.set("rows", rows);
  return data;
}

void fill_cases(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData list = page_list();
  for (const Subject& subject : subjects_of(verdict)) {
    PageData lines = page_list();
    std::int64_t red = 0, incomplete = 0;
    for (const std::size_t index : subject.cells) {
      lines.push_back(case_line(verdict, verdict.cells[index], evidence));
      if (!verdict.cells[index].holds) ++(verdict.cells[index].incomplete() ? incomplete : red);
    }
    list.push_back(subject_data(subject.title, lines, std::ssize(subject.cells), red, incomplete, "case"));
  }
  if (const PageData references = references_data(verdict); !references.is_false()) list.push_back(references);
  page.set("subjects", list);
}

}  // namespace plumbline
