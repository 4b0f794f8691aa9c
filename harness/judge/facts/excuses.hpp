// SPDX-License-Identifier: BSD-3-Clause
// Excuses: facts that a record need not have. Its recorder states that it could not see them, and the claim is then
// incomplete; or they are optional. An excuse never covers a fact that is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.hpp"

namespace plumbline::judging {

/// True if the record's recorder could not see facts of this kind in the step. `kind`: see ColumnRules.
inline bool excused(const Record& record, std::string_view kind, std::int64_t step) {
  for (const NotRecorded& entry : record.manifest.not_recorded)
    if (entry.what == kind && step >= entry.from_step.value_or(step)) return true;
  return false;
}

/// True if the record may lack such values without a reason (record/record.hpp).
inline bool is_optional(const Record& record, const std::string& kind) {
  return record.manifest.conventions.optional.contains(kind);
}

/// True if no recorder states that it could not see the kinds in some step.
inline bool recorded_throughout(const Record& record, const std::vector<std::string>& kinds) {
  return !lists_any(record.manifest.not_recorded, kinds);
}

/// excused() for an end of a stage boundary: send | receive | local | computed.
inline bool excused_end(const Record& record, std::string_view side, std::int64_t step) {
  if (excused(record, "boundaries", step)) return true;
  return side != "computed" && excused(record, side == "send" ? "sends" : "receives", step);
}

}  // namespace plumbline::judging
