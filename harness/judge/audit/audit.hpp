// SPDX-License-Identifier: BSD-3-Clause
// One record, alone, recomputed: what follows from what it holds, by formulas of the judge's own. What both trainers do
// wrong alike leaves two equal records, and is seen here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/dumps.hpp"
#include "harness/judge/audit/findings.hpp"
#include "harness/judge/audit/possible_numbers.hpp"
#include "harness/judge/audit/value_audit.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

struct AuditOptions {
  bool values = true;  ///< dumped values too, and not the tables alone
  /// More bytes of dumps than these are not read, and told as not audited.
  std::uintmax_t most_dump_bytes = std::uintmax_t{1} << 30U;
  bool alone = true;  ///< no other check looks at the record: losses, and that all is finite, too
};

/// Step by step: of the step before no more is kept than its rows and dumps.
class RecordAudit {
 public:
  /// The record must outlive it; its rows are those of the step in hand.
  RecordAudit(const Record& record, const AuditOptions& options);

  /// The start (-1), then every step of the run. `before`: the rows of the step before, by rank. Throws InputError for
  /// a dump that cannot be read.
  void step(std::int64_t step, const std::vector<RankRecord>& before);
  /// Findings in the order of the tables, and within these of the steps.
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
  Audit whole_;                             ///< what is of no step
  Audit possible_, rows_, norms_, copies_;  ///< from the tables
  Audit values_;                            ///< from tables and dumps, where every dtype is known
  std::optional<std::string> unknown_dtype_;
  std::uintmax_t dump_bytes_ = 0;
  std::optional<Dumps> dumps_;
  UpdatesByParameter updates_;
};

/// The whole record. Throws InputError for one that cannot be read.
Audit audit_record(const std::filesystem::path& record, const AuditOptions& options = {});

}  // namespace plumbline::auditing
