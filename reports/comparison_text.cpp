// SPDX-License-Identifier: BSD-3-Clause
#include "reports/comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reports/headline.hpp"
#include "reports/words.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

// Limits of a summary: characters of a line (of 80 columns), lines of each list.
constexpr std::size_t line_columns = 78, most_listed = 4;

/// The text, cut at a blank.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  return text.substr(0, text.rfind(' ', most - 4)) + " ...";
}

std::string verdict_line(const Verdict& verdict) {
  const CellVerdict& cell = verdict.cells.front();
  const std::string not_recorded = not_recorded_words(verdict), accepted = missing_words(cell.checks, true);
  std::string text = "DOES NOT HOLD";
  if (cell.incomplete()) {
    text = "INCOMPLETE: nothing differs, but " + missing_words(cell.checks, false);
    if (!acceptable_claims(cell.checks).empty()) text += "; or accept it with " + accepting_option(cell.checks);
    return text;
  }
  if (cell.holds) text = "HOLDS" + (accepted.empty() ? "" : ", accepted although " + accepted);
  if (!not_recorded.empty()) text += (cell.holds ? ", but " : "; ") + not_recorded;
  if (verdict.comparison_mode == ComparisonMode::calibrated) text += " (within calibrated limits, not in bits)";
  return fmt::format("{} ({})", text, tally_text(cell.checks));
}

/// What was not compared, and why: claims with the same reason together.
std::vector<std::string> gaps(const Verdict& verdict, Detail detail) {
  const CellVerdict& cell = verdict.cells.front();
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  const auto add = [&](const std::string& reason, const std::string& name) {
    auto same = std::ranges::find(reasons, reason, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == reasons.end()) same = reasons.insert(same, {reason, {}});
    if (!name.empty()) same->second.push_back(name);
  };
  for (const auto& check : cell.checks) {
    const bool in_verdict = check.accepted || (cell.incomplete() && is_blocking(check));
    if (detail == Detail::summary && check.outcome == Outcome::incomplete && !in_verdict)
      add(reason_words(check), check.name + (check.required ? "" : " (not required)"));
  }
  for (const auto& check : cell.checks) {
    for (const auto& words : check.not_shown) add(words, "");
  }
  if (const std::string words = data_gaps(verdict); !words.empty()) add(words, "");
  std::vector<std::string> lines;
  constexpr std::size_t most_named = 3;
  for (const auto& [reason, names] : reasons) {
    const auto count = std::ssize(names);
    const std::string which = names.size() > most_named ? count_text(count, "check") : join(names, ", ");
    lines.push_back(which + (names.empty() ? "" : ": ") + reason);
  }
  return lines;
}

/// "<head>:" and a line each.
std::string listed(const std::string& head, const std::vector<std::string>& lines, Detail detail) {
  if (lines.empty()) return "";
  std::string text = head + ":\n";
  const bool all = detail == Detail::all || lines.size() <= most_listed;
  const std::size_t shown = all ? lines.size() : most_listed - 1;
  for (std::size_t i = 0; i < shown; ++i)
    text += "  " + (detail == Detail::all ? lines[i] : cut(without_digests(lines[i]), line_columns - 2)) + "\n";
  return all ? text : text + fmt::format("  and {} more\n", lines.size() - shown);
}

std::string divergence_text(const Finding& divergence, Detail detail) {
  constexpr std::size_t words_lines = 6, size_lines = 2;
  const auto fitting = [&](const std::string& text, std::size_t lines) {
    return detail == Detail::all ? text : cut(without_digests(text), lines * line_columns);
  };
  std::string text = fitting("first divergence: " + divergence.words, words_lines) + "\n";
  if (!divergence.size.empty()) text += fitting("  difference: " + divergence.size, size_lines) + "\n";
  return text;
}

std::string next_words(const CellVerdict& cell, Detail detail, const std::optional<std::filesystem::path>& page) {
  std::vector<std::string> steps;
  const auto& first = cell.first_divergence;
  const bool dumpable = first && first->size.find("element") == std::string::npos &&
                        without_digests(first->expected) != first->expected && first->expected != first->got;
  if (dumpable) steps.emplace_back("record both at level \"dump\" to see the first element that differs");
  if (detail == Detail::summary) steps.emplace_back("--all lists every check");
  if (!page) steps.emplace_back("--page DIR writes a report");
  return (page ? "report: " + (*page / "report.html").string() + "\n" : "") +
         (steps.empty() ? "" : "next: " + join(steps, "; ") + "\n");
}

std::string table_of(const std::vector<CheckResult>& checks) {
  std::size_t widest = 0;
  for (const auto& check : checks) widest = std::max(widest, check.name.size());
  std::string text;
  for (const auto& check : checks)
    text += fmt::format("{:<{}}{:<15} {}{}\n", check.name, widest + 2, outcome_words(check.outcome),
                        check.required || check.outcome != Outcome::incomplete ? "" : "(not required) ",
                        reason_words(check));
  return text;
}

}  // namespace

std::string difference_words(const CheckResult& check, const CellVerdict& cell) {
  if (!check.first_divergence) return reason_words(check);
  const std::string& words = check.first_divergence->words;
  const bool is_first = cell.first_divergence && cell.first_divergence->words == words;
  const bool counted = check.measured.ends_with(" difference") || check.measured.ends_with(" differences");
  if (!counted) return is_first ? "the first divergence" : words;
  return check.measured + (is_first ? ", the first divergence" : ": " + words);
}

std::string comparison_text(const Verdict& verdict, Detail detail, const std::optional<std::filesystem::path>& page) {
  constexpr std::size_t verdict_lines = 6;
  const CellVerdict& cell = verdict.cells.front();
  const std::string head = verdict_line(verdict);
  std::string text = (detail == Detail::all ? head : cut(head, verdict_lines * line_columns)) + "\n";
  if (cell.first_divergence) text += divergence_text(*cell.first_divergence, detail);
  std::vector<std::string> differing;
  for (const auto& check : cell.checks) {
    if (check.outcome == Outcome::differs) differing.push_back(check.name + ": " + difference_words(check, cell));
  }
  text += detail == Detail::all ? table_of(cell.checks) : listed("differs", differing, detail);
  text += listed("not compared", gaps(verdict, detail), detail);
  return text + next_words(cell, detail, page);
}

std::string comparison_text(const CellVerdict& cell) {
  Verdict alone;
  alone.cells = {cell};
  return comparison_text(alone);
}

}  // namespace plumbline
