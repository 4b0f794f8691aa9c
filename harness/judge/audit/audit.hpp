// One record, alone, recomputed: what follows from what it holds, by formulas of the judge's own. What both trainers do
// wrong alike leaves two equal records, and is seen here.
#pragma once

#include <cstdint>

#include "harness/judge/audit/findings.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

struct AuditOptions {
  bool values = true;  ///< dumped values too, and not the tables alone
  /// More bytes of dumps than these are not read, and told as not audited.
  std::uintmax_t most_dump_bytes = std::uintmax_t{1} << 30U;
};

/// Findings in the order of the tables. Throws InputError for a dump that cannot be read.
Audit audit_record(const Record& record, const AuditOptions& options = {});

}  // namespace plumbline::auditing
