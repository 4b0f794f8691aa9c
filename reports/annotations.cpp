// SPDX-License-Identifier: BSD-3-Clause
#include "reports/annotations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/markup.hpp"
#include "reports/words.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_annotations = 10;

/// One of GitHub's workflow commands.
std::string annotation(const char* level, const std::string& title, const std::string& message) {
  const std::map<char, std::string_view> of_message{{'%', "%25"}, {'\n', "%0A"}};
  const std::map<char, std::string_view> of_title{{'%', "%25"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}};
  return fmt::format("::{} title={}::{}\n", level, escaped(title, of_title), escaped(message, of_message));
}

std::string why_not(const CellVerdict& cell) {
  std::string message = complaint(cell);
  if (!cell.command.empty()) message += "\nRun again: " + cell.command;
  return message;
}

std::string measurement(const char* type, const std::string& name, const std::string& value) {
  return fmt::format("<CTestMeasurement type=\"{}\" name=\"{}\">{}</CTestMeasurement>\n", type, xml_escape(name),
                     xml_escape(value));
}

}  // namespace

std::string annotations(const Verdict& verdict) {
  std::vector<std::string> lines;
  for (const CellVerdict& cell : verdict.cells) {
    if (cell.holds) continue;
    const bool verb = cell.incomplete() || cell.unstable();
    lines.push_back(annotation("error", cell.id + (verb ? " is " : " ") + case_state(cell), why_not(cell)));
  }
  for (const std::string& line : not_run_lines(verdict)) lines.push_back(annotation("error", "not run", line));
  for (const ReferenceVerdict& reference : verdict.references) {
    for (const CheckResult& check : reference.checks) {
      if (is_blocking(check))
        lines.push_back(
            annotation("error", "reference " + reference.id, fmt::format("{}: {}", check.name, check.reason)));
    }
  }
  if (const std::string gaps = data_gaps(verdict); !gaps.empty())
    lines.push_back(annotation("notice", "not required", gaps));
  if (lines.empty() || verdict.holds)
    lines.push_back(annotation(verdict.holds ? "notice" : "error", "Plumbline", headline(verdict)));
  if (lines.size() > most_annotations) {
    const auto more = lines.size() - (most_annotations - 1);
    lines.resize(most_annotations - 1);
    lines.push_back(annotation(verdict.holds ? "warning" : "error", "Plumbline",
                               fmt::format("{}; {} more are in report.html", headline(verdict), more)));
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string ctest_measurements(const Verdict& verdict, const Evidence& evidence, const std::filesystem::path& report) {
  std::map<std::string, std::int64_t> largest;
  for (const auto& [id, run] : evidence.cells) {
    for (const RankMemory& rank : run.ranks) {
      for (const auto& [name, bytes] : {std::pair("largest_activation_bytes", rank.activation_bytes),
                                        std::pair("largest_process_bytes", rank.process_bytes)})
        if (bytes) largest[name] = std::max(largest[name], *bytes);
    }
  }
  std::string text = measurement("text/string", "verdict", headline(verdict));
  if (const auto commit = harness_text(verdict, "commit")) text += measurement("text/string", "commit", *commit);
  for (const char* what : {"cases", "cases_holding"})
    if (const auto count = verdict.counts.find(what); count != verdict.counts.end())
      text += measurement("numeric/integer", what, to_text(count->second));
  if (const auto elements = verdict.compared.find("elements"); elements != verdict.compared.end())
    text += measurement("numeric/integer", "compared_elements", to_text(elements->second));
  for (const auto& [name, bytes] : largest) text += measurement("numeric/integer", name, to_text(bytes));
  text += measurement("numeric/double", "run_seconds", to_text(run_seconds(verdict)));
  return text + fmt::format("<CTestMeasurementFile type=\"file\" name=\"report\">{}</CTestMeasurementFile>\n",
                            xml_escape(report.string()));
}

}  // namespace plumbline
