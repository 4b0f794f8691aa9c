// SPDX-License-Identifier: BSD-3-Clause
// One record examined alone: whether it can be read as docs/record-format.md says, and whether its numbers follow from
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

/// Throws InputError where the strict reader refuses the record, and for a dump that cannot be read.
RecordCheck check_record(const std::filesystem::path& path, const auditing::AuditOptions& options = {});

/// For people: the structure, then the audit as a section, each finding with file, line, rank, step and what was
/// expected.
std::string to_text(const RecordCheck& check);
/// Schema plumbline-record-check/1.
Json to_json(const RecordCheck& check);

}  // namespace plumbline
