// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/evidence/record_reading.hpp"

namespace plumbline::judging {
namespace {

std::vector<std::string> units_of(const Manifest& manifest) {
  std::vector<std::string> units;
  for (const auto& stage : manifest.stages) units.insert(units.end(), stage.units.begin(), stage.units.end());
  return units;
}

/// Rows of step -1, by rank; none for a record that cannot be read, which the judged reading reports.
std::vector<TensorRow> start_of(const Record& record) {
  RecordReading reading(record.path);
  reading.go_to(-1);
  std::vector<TensorRow> rows;
  if (!reading.record()) return rows;
  for (const auto& rank : reading.record()->ranks) {
    for (const auto& row : rank.tensors) {
      if (row.kind == "parameter") rows.push_back(row);
    }
  }
  return rows;
}

/// The longest unit name that is a prefix of the parameter's, or empty.
std::string unit_by_name(const std::vector<std::string>& units, const std::string& parameter) {
  std::string longest;
  for (const auto& unit : units) {
    if (parameter.starts_with(unit + ".") && unit.size() > longest.size()) longest = unit;
  }
  return longest;
}

/// A unit of the stage that lists it; empty if none does.
std::string unit_by_place(const std::vector<TensorRow>& rows, const Manifest& manifest, const std::string& parameter) {
  for (const auto& row : rows) {
    if (row.name != parameter || row.stage < 0 || row.stage >= std::ssize(manifest.stages)) continue;
    const auto& units = manifest.stages[static_cast<std::size_t>(row.stage)].units;
    if (!units.empty()) return units.front();
  }
  return "";
}

}  // namespace

ExpectedModel model_of_records(const Record& reference, const Record& candidate) {
  const Json& config = reference.manifest.json.at("model");
  if (!reference.manifest.external()) return expected_model(config);
  const auto rows = start_of(reference);
  if (reference.manifest.conventions.config_of_a_llama) {
    ExpectedModel llama = expected_model(config);
    const bool its_names =
        rows.empty() || std::ranges::find(rows, llama.parameters.front().name, &TensorRow::name) != rows.end();
    if (its_names && llama.units == units_of(reference.manifest)) return llama;
  }
  ExpectedModel model;
  model.units = units_of(reference.manifest);
  const auto elsewhere = start_of(candidate);
  for (const auto& row : rows) {
    if (model.parameter_position(row.name)) continue;  // also on a second rank: reported by census
    std::string unit = unit_by_name(model.units, row.name);
    if (unit.empty()) unit = unit_by_place(elsewhere, candidate.manifest, row.name);
    if (unit.empty()) unit = unit_by_place(rows, reference.manifest, row.name);
    model.parameters.push_back({row.name, unit, row.shape, row.dtype});
  }
  return model;
}

}  // namespace plumbline::judging
