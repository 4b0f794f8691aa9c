// SPDX-License-Identifier: BSD-3-Clause
// Checks one record alone: whether it follows docs/record-format.md, and whether its numbers follow from
// each other.
#pragma once

#include <filesystem>
#include <string>

#include "harness/judge/audit/audit.hpp"
#include "support/json.hpp"

namespace plumbline {

struct RecordCheck {
  std::filesystem::path path;
  std::string run_id, role, level, dtype, optimizer;
  std::int64_t world_size = 0, steps = 0;
  auditing::Audit audit;

  bool holds() const { return audit.findings.empty(); }
};

/// Throws InputError if the strict reader refuses the record or a dump cannot be read.
RecordCheck check_record(const std::filesystem::path& path, const auditing::AuditOptions& options = {});

/// As text: the structure, then the recomputation, each finding with file, line, rank, step and the
/// expected value.
std::string to_text(const RecordCheck& check);
/// Schema plumbline-record-check/1.
Json to_json(const RecordCheck& check);

}  // namespace plumbline
