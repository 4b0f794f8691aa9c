// SPDX-License-Identifier: BSD-3-Clause
// Checks one record alone: whether it follows docs/record-format.md, and whether its numbers follow from
// each other.
#pragma once

#include <filesystem>
#include <string>

#include "harness/judge/predicates/predicates.hpp"
#include "record/manifest.hpp"
#include "support/json.hpp"

namespace plumbline {

struct RecordCheck {
  std::filesystem::path path;
  Manifest manifest;
  predicates::Report report;

  bool holds() const { return report.findings.empty(); }
  std::string optimizer() const { return manifest.json.at("optimizer").value("name", ""); }
  std::int64_t steps() const { return manifest.steps - manifest.first_step; }
};

/// Throws InputError if the strict reader refuses the record.
RecordCheck check_record(const std::filesystem::path& path);

/// As text: the structure, then the predicates, each finding with file, line, rank, step and the
/// expected value.
std::string to_text(const RecordCheck& check);
/// Schema plumbline-record-check/1.
Json to_json(const RecordCheck& check);

}  // namespace plumbline
