// SPDX-License-Identifier: BSD-3-Clause
#include "reports/summary_md.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/markup.hpp"
#include "reports/mission_figures.hpp"
#include "reports/words.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_lines = 40;

/// Escapes Markdown and HTML, on one line.
std::string md_text(const std::string& text) {
  static const std::map<char, std::string_view> escapes{{'\n', " "},    {'\t', " "},  {'<', "&lt;"}, {'&', "&amp;"},
                                                        {'\\', "\\\\"}, {'`', "\\`"}, {'*', "\\*"},  {'_', "\\_"},
                                                        {'[', "\\["},   {']', "\\]"}, {'|', "\\|"},  {'~', "\\~"},
                                                        {'#', "\\#"},   {'!', "\\!"}, {'>', "\\>"}};
  return escaped(text, escapes);
}

/// A code span that the text cannot end; a bar does not end a table's field.
std::string md_code(const std::string& text) {
  return "`" + escaped(text, {{'\n', " "}, {'`', " "}, {'|', "\\|"}}) + "`";
}

template <typename Item, typename Line>
std::string md_lines(const std::vector<Item>& items, Line line, const std::string& more) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most_lines); ++i) text += line(items[i]);
  if (items.size() > most_lines)
    text += fmt::format("{}and {} more; report.html has them all\n", more,
                        grouped(static_cast<std::int64_t>(items.size() - most_lines)));
  return text;
}

std::string failing_rows(const Verdict& verdict) {
  std::vector<const CellVerdict*> failing;
  for (const CellVerdict& cell : verdict.cells) {
    if (!cell.holds && !cell.incomplete()) failing.push_back(&cell);
  }
  if (failing.empty()) return "";
  return "\n### What does not hold\n\n| case | checks | first divergence | run again |\n|---|---|---|---|\n" +
         md_lines(
             failing,
             [](const CellVerdict* cell) {
               const std::string place = cell->first_divergence ? md_text(complaint(*cell)) : "-";
               return fmt::format("| {}{} | {} | {} | {} |\n", md_text(cell->id), cell->unstable() ? " (unstable)" : "",
                                  md_text(join(failing_claims(cell->checks), ", ")), place,
                                  cell->command.empty() ? "-" : md_code(cell->command));
             },
             "\n");
}

std::string incomplete_rows(const Verdict& verdict) {
  std::vector<const CellVerdict*> incomplete;
  for (const CellVerdict& cell : verdict.cells) {
    if (cell.incomplete()) incomplete.push_back(&cell);
  }
  if (incomplete.empty()) return "";
  return "\n### What was not compared in full\n\nNothing differs in these cases.\n\n"
         "| case | not compared | to accept it in the sweep file |\n|---|---|---|\n" +
         md_lines(
             incomplete,
             [](const CellVerdict* cell) {
               return fmt::format("| {} | {} | {} |\n", md_text(cell->id), md_text(missing_words(cell->checks, false)),
                                  acceptable_claims(cell->checks).empty() ? "-" : md_code(accepting_key(cell->checks)));
             },
             "\n");
}

/// The incomplete claims of cases that hold, which the user accepts.
std::vector<std::string> accepted_lines(const Verdict& verdict) {
  std::vector<std::string> lines;
  for (const CellVerdict& cell : verdict.cells) {
    const std::string words = missing_words(cell.checks, true);
    if (!words.empty()) lines.push_back(fmt::format("{}: {}", cell.id, words));
  }
  return lines;
}

}  // namespace

std::string summary_md(const Verdict& verdict) {
  std::string text =
      fmt::format("## {} {}\n\n{}\n\n", verdict_sign(verdict), md_text(headline(verdict)), md_text(claim(verdict)));
  std::vector<std::string> compared;
  for (const char* what : {"tensors", "elements", "bytes"}) {
    if (const auto count = verdict.compared.find(what); count != verdict.compared.end())
      compared.push_back(fmt::format("{} {}", grouped(count->second), what));
  }
  text += fmt::format("Sweep {}, {}. Compared: {}.\n", md_text(verdict.name), md_text(verdict.started),
                      compared.empty() ? "nothing" : md_text(join(compared, ", ")));
  const auto list = [](const char* title, const std::vector<std::string>& lines) {
    const auto point = [](const std::string& line) { return fmt::format("* {}\n", md_text(line)); };
    return lines.empty() ? "" : fmt::format("\n### {}\n\n{}", title, md_lines(lines, point, "* "));
  };
  text += failing_rows(verdict) + incomplete_rows(verdict) + list("Not run", not_run_lines(verdict)) +
          list("Accepted although not compared", accepted_lines(verdict));
  text += "\n### Coverage by world size\n\n| P |";
  for (const std::string& head : figure_heads()) text += fmt::format(" {} |", head);
  text += "\n|---|";
  for (std::size_t i = 0; i < figure_heads().size(); ++i) text += "---|";
  text += "\n";
  for (const MissionFigures& figures : mission_figures(verdict))
    text += fmt::format("| {} | {} |\n", figures.world, join(figure_texts(figures), " | "));
  const std::string gaps = data_gaps(verdict);
  return text + (gaps.empty() ? "" : fmt::format("\nNot required: {}\n", md_text(gaps)));
}

}  // namespace plumbline
