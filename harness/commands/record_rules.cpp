// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "harness/commands/commands.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/facts/fact.hpp"
#include "record/columns.hpp"
#include "record/not_recorded.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string required_of(const judging::CheckDescriptor& check, bool external) {
  if (check.required == judging::Required::always) return "required, always";
  return external && !is_of_every_case(check.name) ? "must not differ" : "required";
}

std::string behind_diverged_norm(const judging::CheckDescriptor& check) {
  return check.values == judging::Values::before_update ? "to the gradients" : "to the update";
}

/// Pads columns to the width of their widest entry.
std::string table_text(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

template <typename T>
void add_columns(std::string& text) {
  const auto& table = table_of<T>();
  std::vector<std::string> columns, values;
  for (const auto& column : table.columns) {
    if (column.presence == Presence::external_may_lack_column || column.presence == Presence::external_may_lack_value)
      columns.push_back(column.name);
    if (column.presence == Presence::external_may_leave_empty) values.push_back(column.name);
  }
  if (!columns.empty()) text += "  " + table.file + ", columns: " + join(columns, ", ") + "\n";
  if (!values.empty()) text += "  " + table.file + ", values: " + join(values, ", ") + "\n";
}

/// For each kind of rows the checks that cannot be run without it.
void add_not_recorded(std::string& text) {
  text +=
      "\nWhat its recorder may list as not recorded (not_recorded), and the checks that then compare what rows there "
      "are, or are incomplete:\n";
  const auto names = [](const std::vector<std::string>& kinds, const std::string& kind) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  for (const auto& kind : kinds_of_rows()) {
    std::vector<std::string> checks;
    for (const judging::CheckDescriptor& check : judging::all_checks()) {
      if (names(check.needs, kind) || names(check.compares_without, kind))
        checks.push_back(check.name);
      else if (names(check.needs_of_reference, kind))
        checks.push_back(check.name + " (of the reference)");
    }
    text += "  " + kind + ": " + (checks.empty() ? "a part of another check" : join(checks, ", ")) + "\n";
  }
}

/// One item of a list, wrapped.
std::string item_of(const std::string& heading, const std::string& words) {
  constexpr std::size_t width = 118;
  std::istringstream all(words);
  std::string text, line = "* **" + heading + "**:";
  for (std::string word; all >> word;) {
    if (line.size() + 1 + word.size() > width) {
      text += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

}  // namespace

std::string rules_text() {
  Rows required = {{"check", "level", "reference, pipeline", "external"}};
  Rows calibrated = {{"check", "calibrated", "norm per_rank"}};
  for (const judging::CheckDescriptor& check : judging::all_checks()) {
    required.push_back(
        {check.name, check.make ? to_text(check.level) : "-", required_of(check, false), required_of(check, true)});
    if (check.values != judging::Values::none)
      calibrated.push_back({check.name, "within limits", behind_diverged_norm(check)});
    else if (check.name == "gradient_norm")
      calibrated.push_back({check.name, "within limits", "all, of each record"});
  }
  std::string text = table_text(required) +
                     "\nWith --calibration these compare within its limits; the others stay exact:\n" +
                     table_text(calibrated);
  text +=
      "\nlevel: what both records must have.\nnorm per_rank: how far values of the first step are compared whose clip "
      "coefficients differ by the rounding of a norm; nothing after it is.\n\nWhat a record of role external may lack, "
      "and is then "
      "reported as not inspected:\n  schedule.csv, saved.csv, traffic.csv, gpu_memory.csv; without schedule.csv, the "
      "rows of actions.csv\n";
  add_columns<StepRow>(text);
  add_columns<TensorRow>(text);
  add_columns<ActionRow>(text);
  add_columns<MemoryRow>(text);
  add_not_recorded(text);
  return text;
}

std::string checks_in_markdown() {
  std::string text =
      "## What is compared\n| claim | column | rows | on which ranks | excused by |\n|---|---|---|---|---|\n";
  for (const judging::Column column : judging::all_columns()) {
    const judging::ColumnRules& rules = judging::rules_of(column);
    text += fmt::format("| {} | {} | {} | {} | {} |\n", rules.claim, rules.name, rules.rows, to_words(rules.occurs),
                        rules.kind);
  }
  text += "\n";
  for (const auto& check : judging::all_checks()) {
    text += "## " + check.name + "\n" + item_of("Claims", check.claims);
    if (!check.needs_in_words.empty()) text += item_of("Needs", check.needs_in_words);
    if (!check.reports.empty()) text += item_of("Reports", check.reports);
    text += item_of("Cannot see", check.cannot_see) + "\n";
  }
  text.pop_back();
  return text;
}

}  // namespace plumbline
