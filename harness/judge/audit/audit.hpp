// SPDX-License-Identifier: BSD-3-Clause
// Recomputes derived values of one record by the judge's own formulas. This detects errors that both trainers share,
// which leave two equal records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"
#include "harness/judge/audit/table_audit.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

struct AuditOptions {
  bool values = true;  ///< also dumped values, not only tables
  /// Dumps beyond this number of bytes are not read and reported as not audited.
  std::uintmax_t most_dump_bytes = std::uintmax_t{1} << 30U;
  bool alone = true;  ///< no other check runs on the record: also check losses and finiteness
};

/// Works step by step and keeps only the rows and dumps of the previous step.
class RecordAudit {
 public:
  /// Keeps a reference to the record, whose rows are those of the current step.
  RecordAudit(const Record& record, const AuditOptions& options);

  /// Call for the start (-1), then for every step of the run. `before`: rows of the previous step, by rank. Throws
  /// InputError for a dump that cannot be read.
  void step(std::int64_t step, const std::vector<RankRecord>& before);
  /// Findings in the order of the tables, then of the steps.
  Audit conclude();

 private:
  bool incomplete();
  void note_unknown_dtype();
  void of_values(const AuditedStep& audited);

  const Record& record_;
  AuditOptions options_;
  bool no_rows_ = false;  ///< nothing to audit
  std::vector<RowsBefore> rows_before_;
  PossibleNumbers possible_numbers_;
  Audit whole_;                             ///< outside of steps
  Audit possible_, rows_, norms_, copies_;  ///< from the tables
  Audit values_;                            ///< from tables and dumps, if every dtype is known
  std::optional<std::string> unknown_dtype_;
  std::uintmax_t dump_bytes_ = 0;
  std::optional<Dumps> dumps_;
  UpdatesByParameter updates_;
};

/// Recomputes a whole record. Throws InputError if it cannot be read.
Audit audit_record(const std::filesystem::path& record, const AuditOptions& options = {});

}  // namespace plumbline::auditing
