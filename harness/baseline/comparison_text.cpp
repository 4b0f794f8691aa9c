// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON of a comparison with a baseline.
#include "harness/baseline/baseline_comparison.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string commits(const BaselineComparison& comparison) {
  return comparison.commit_before.empty() || comparison.commit_now.empty()
             ? ""
             : ", commits " + comparison.commit_before + ".." + comparison.commit_now;
}

std::string verdict_line(const BaselineComparison& comparison) {
  if (comparison.nothing() && comparison.red.empty()) return "NOTHING COMPARABLE with baseline " + comparison.name;
  if (!comparison.red.empty()) return "DOES NOT HOLD, compared with baseline " + comparison.name;
  if (comparison.changes.empty()) return "EQUAL to baseline " + comparison.name;
  return (comparison.holds() ? "CHANGED AS ALLOWED since baseline " : "CHANGED since baseline ") + comparison.name;
}

}  // namespace

Json to_json(const BaselineComparison& comparison) {
  Json json = {{"schema", baseline_comparison_schema},
               {"baseline", comparison.name},
               {"sweep", comparison.sweep},
               {"holds", comparison.holds() && !comparison.nothing()},
               {"commit_before", comparison.commit_before},
               {"commit_now", comparison.commit_now},
               {"compared",
                {{"runs", comparison.runs},
                 {"losses", comparison.losses},
                 {"parameters", comparison.parameters},
                 {"byte_counts", comparison.byte_counts}}},
               {"changes", Json::array()},
               {"environment", Json::array()},
               {"not_compared", comparison.not_compared},
               {"red", comparison.red},
               {"allowed", Json::array()},
               {"reason", comparison.reason}};
  for (const BaselineChange& change : comparison.changes)
    json["changes"].push_back({{"kind", to_text(change.kind)}, {"where", change.where}, {"words", change.words}});
  for (const EnvironmentDifference& difference : comparison.environment)
    json["environment"].push_back({{"key", difference.key}, {"before", difference.before}, {"now", difference.now}});
  for (const ChangeKind kind : comparison.allowed) json["allowed"].push_back(to_text(kind));
  return json;
}

std::string to_text(const BaselineComparison& comparison) {
  std::string text = verdict_line(comparison) + commits(comparison) + "\n";
  text += "compared: " + quantity(comparison.runs, "run") + ", " + quantity(comparison.losses, "loss") + ", " +
          quantity(comparison.parameters, "parameter") + " at the end, " + std::to_string(comparison.byte_counts) +
          " numbers of bytes\n";
  if (!comparison.red.empty()) text += "does not hold:\n";
  for (const std::string& line : comparison.red) text += "  " + line + "\n";
  for (const ChangeKind kind : {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage}) {
    std::string lines;
    for (const BaselineChange& change : comparison.changes)
      if (change.kind == kind) lines += "  " + change.where + ": " + change.words + "\n";
    if (lines.empty()) continue;
    const bool allowed = comparison.allowed.contains(kind);
    text += to_text(kind) + (allowed ? " (allowed: " + comparison.reason + ")" : std::string()) + ":\n";
    text += lines;
  }
  if (!comparison.environment.empty()) {
    text += "what differs in machine, versions and environment:\n";
    for (const EnvironmentDifference& difference : comparison.environment)
      text += "  " + difference.key + ": " + difference.before + " before, " + difference.now + " now\n";
  }
  if (!comparison.not_compared.empty()) {
    text += "not compared:\n";
    for (const std::string& line : comparison.not_compared) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace plumbline
