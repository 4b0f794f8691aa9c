// SPDX-License-Identifier: BSD-3-Clause
#include "reports/results_csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/csv.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string count(const Counts& counts, const std::string& what) {
  const auto found = counts.find(what);
  return found == counts.end() ? "" : to_text(found->second);
}

std::string all(const Counts& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, number] : counts) parts.push_back(fmt::format("{} {}", number, what));
  return join(parts, "; ");
}

/// Spreadsheets compute a cell that begins so; a quote in front makes it a text.
std::string as_text(const std::string& cell) {
  const bool computed = cell.find_first_of("=+-@\t\r") == 0 && !parse_double(cell);
  return computed ? "'" + cell : cell;
}

std::string row(std::vector<std::string> place, const CheckResult& check) {
  const std::vector<std::string> found = {check.name,
                                          to_text(check.outcome),
                                          check.required ? "true" : "false",
                                          check.accepted ? "true" : "false",
                                          check.from_step ? to_text(*check.from_step) : "",
                                          count(check.compared, "tensors"),
                                          count(check.compared, "elements"),
                                          all(check.compared),
                                          all(check.inspected),
                                          check.limit,
                                          check.measured,
                                          check.margin ? to_text(*check.margin) : "",
                                          join(check.not_shown, "; "),
                                          check.reason};
  place.insert(place.end(), found.begin(), found.end());
  std::ranges::transform(place, place.begin(), as_text);
  return csv_line(place);
}

std::vector<std::string> place_of(const CellVerdict& cell) {
  return {cell.id,
          cell.run,
          cell.model,
          cell.optimizer,
          to_text(cell.world),
          cell.schedule,
          join(cell.balance, " "),
          cell.variant,
          cell.reference};
}

}  // namespace

std::string results_csv(const Verdict& verdict) {
  std::string table = csv_line({"case",
                                "run",
                                "model",
                                "optimizer",
                                "world",
                                "schedule",
                                "balance",
                                "variant",
                                "reference",
                                "claim",
                                "outcome",
                                "required",
                                "accepted",
                                "from_step",
                                "compared_tensors",
                                "compared_elements",
                                "compared",
                                "inspected",
                                "limit",
                                "measured",
                                "margin",
                                "not_shown",
                                "reason"});
  for (const auto& reference : verdict.references) {
    for (const auto& check : reference.checks) {
      table += row({"", reference.run, reference.model, reference.optimizer, "1", "", "", "", reference.id}, check);
    }
  }
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) table += row(place_of(cell), check);
  }
  return table;
}

}  // namespace plumbline
