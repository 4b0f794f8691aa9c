#include "harness/commands/record_rules.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/judge/rules.hpp"
#include "record/columns.hpp"
#include "record/not_recorded.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

using RulesRow = std::array<std::string, 6>;

std::string required_of(const judging::Rule& rule, bool external) {
  std::string words = rule.required == judging::Required::always        ? "required, always"
                      : rule.required == judging::Required::where_asked ? "required"
                                                                        : "required where the bench is";
  if (external && rule.external_may_lack) words = "told where a table is absent";
  return words;
}

std::string behind_norm(const judging::Rule& rule) {
  switch (rule.behind_norm) {
    case judging::BehindNorm::gradients:
      return "to the gradients";
    case judging::BehindNorm::nothing:
      return "to the update";
    case judging::BehindNorm::all:
      break;
  }
  return "all";
}

RulesRow row_of(const judging::Rule& rule) {
  const bool values = rule.behind_norm != judging::BehindNorm::all;
  return {rule.check,
          rule.make ? to_text(rule.level) : "-",
          required_of(rule, false),
          required_of(rule, true),
          values ? "within limits" : "exact",
          behind_norm(rule)};
}

template <typename T>
void add_columns(std::string& text) {
  const auto& table = table_of<T>();
  std::vector<std::string> columns, values;
  for (const auto& column : table.columns) {
    if (column.presence == Presence::external_may_lack_column || column.presence == Presence::added_with_schema_2 ||
        column.presence == Presence::external_may_lack_value)
      columns.push_back(column.name);
    if (column.presence == Presence::external_may_leave_empty) values.push_back(column.name);
  }
  if (!columns.empty()) text += "  " + table.file + ", columns: " + join(columns, ", ") + "\n";
  if (!values.empty()) text += "  " + table.file + ", values: " + join(values, ", ") + "\n";
}

/// Of each kind of rows the checks that cannot be run without it.
void add_not_recorded(std::string& text) {
  text +=
      "\nWhat its recorder may say that it could not see (not_recorded), and the checks that are then not run and not "
      "required:\n";
  const auto names = [](const std::vector<std::string>& kinds, const std::string& kind) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  for (const auto& kind : kinds_of_rows()) {
    std::vector<std::string> checks;
    for (const judging::Rule& rule : judging::all_rules()) {
      if (names(rule.needs, kind) || names(rule.compares_without, kind))
        checks.push_back(rule.check);
      else if (names(rule.needs_of_reference, kind))
        checks.push_back(rule.check + " (of the reference)");
    }
    text += "  " + kind + ": " + (checks.empty() ? "a part of conformance" : join(checks, ", ")) + "\n";
  }
}

}  // namespace

std::string rules_text() {
  std::vector<RulesRow> rows = {{"check", "level", "reference, pipeline", "external", "calibrated", "norm per_rank"}};
  for (const judging::Rule& rule : judging::all_rules()) rows.push_back(row_of(rule));
  std::array<std::size_t, 6> widths{};
  for (const RulesRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const RulesRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text +=
      "\nlevel: what both records must have. calibrated: how values are held with --calibration; without it all is "
      "exact.\nnorm per_rank: how far values are compared in bits where the two clip by coefficients that differ as "
      "roundings do.\n\nWhat a record of role external may lack, and then is told as not looked at:\n"
      "  schedule.csv, saved.csv, traffic.csv, gpu_memory.csv; without schedule.csv, the rows of actions.csv\n";
  add_columns<StepRow>(text);
  add_columns<TensorRow>(text);
  add_columns<ActionRow>(text);
  add_columns<MemoryRow>(text);
  add_not_recorded(text);
  return text;
}

}  // namespace plumbline
