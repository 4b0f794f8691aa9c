// SPDX-License-Identifier: BSD-3-Clause
#include "reports/failing_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reports/words.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

/// The page has all of them.
constexpr std::ptrdiff_t most_causes = 10, most_cells = 8;

/// Without the size of the difference, in which cases of one cause may differ.
std::string words_of_cause(const CellVerdict& cell) {
  if (cell.incomplete()) return missing_words(cell.checks, false);
  if (cell.first_divergence && !cell.first_divergence->words.empty()) return cell.first_divergence->words;
  const auto check = std::ranges::find_if(cell.checks, is_blocking);
  return check == cell.checks.end() ? "" : fmt::format("{}: {}", check->name, check->reason);
}

std::string cause_of(const CellVerdict& cell, bool with_size) {
  if (cell.incomplete())
    return fmt::format("    incomplete: nothing differs, but {}\n", complaint(cell)) +
           (acceptable_claims(cell.checks).empty()
                ? ""
                : fmt::format("    to accept it, add to the sweep file: {}\n", accepting_key(cell.checks)));
  std::string words = fmt::format("    {}\n", with_size ? complaint(cell) : words_of_cause(cell));
  if (cell.unstable()) words += "    unstable: it held when it was run again\n";
  return words;
}

}  // namespace

std::string complaint(const CellVerdict& cell) {
  const bool sized = cell.first_divergence && !cell.first_divergence->size.empty();
  return without_digests(words_of_cause(cell) + (sized ? "; " + cell.first_divergence->size : ""));
}

std::string progress_words(const CellVerdict& cell) {
  const std::string accepted = missing_words(cell.checks, true);
  if (cell.holds) return "holds" + (accepted.empty() ? "" : ", accepted although " + accepted);
  const std::string why = complaint(cell);
  return (cell.incomplete() ? "INCOMPLETE" : "DOES NOT HOLD") + (why.empty() ? "" : "\n  " + why);
}

std::string failing_cells(const Verdict& verdict, std::size_t width) {
  std::vector<std::pair<std::string, std::vector<const CellVerdict*>>> causes;
  for (const auto& cell : verdict.cells) {
    if (cell.holds) continue;
    const std::string cause = cause_of(cell, false);
    auto same = std::ranges::find(causes, cause, [](const auto& each) { return each.first; });
    if (same == causes.end()) same = causes.insert(same, {cause, {}});
    same->second.push_back(&cell);
  }
  std::ranges::stable_partition(causes, [](const auto& each) { return !each.second.front()->incomplete(); });
  std::string text;
  for (std::size_t i = 0; i < causes.size() && std::cmp_less(i, most_causes); ++i) {
    const auto& cells = causes[i].second;
    const auto shown = std::min(std::ssize(cells), most_cells);
    for (const CellVerdict* cell : std::vector(cells.begin(), cells.begin() + shown))
      text += fmt::format("  {}\n", cell->id);
    if (shown < std::ssize(cells))
      text += fmt::format("  and {}\n", count_text(std::ssize(cells) - shown, "more case"));
    text += cause_of(*cells.front(), true);
  }
  if (std::ssize(causes) > most_causes)
    text += fmt::format("  and {}, in the report\n", count_text(std::ssize(causes) - most_causes, "other cause"));
  if (!causes.empty() && !causes.front().second.front()->command.empty())
    text += fmt::format("run the first of them again:\n{}\n",
                        wrapped_command(causes.front().second.front()->command, width, 2));
  return text;
}

}  // namespace plumbline
