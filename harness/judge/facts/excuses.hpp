// SPDX-License-Identifier: BSD-3-Clause
// Excuses: facts that a record need not have, because its recorder states that it could not see them. An excuse never
// covers a fact that is there.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/record.hpp"

namespace plumbline::judging {

/// True if the record's recorder could not see facts of this kind in the step. `kind`: see ColumnRules.
inline bool excused(const Record& record, std::string_view kind, std::int64_t step) {
  for (const NotRecorded& entry : record.manifest.not_recorded)
    if (entry.what == kind && step >= entry.from_step.value_or(step)) return true;
  return false;
}

/// The same for an end of a stage boundary: send | receive | local | computed.
inline bool excused_end(const Record& record, std::string_view side, std::int64_t step) {
  if (excused(record, "boundaries", step)) return true;
  return side != "computed" && excused(record, side == "send" ? "sends" : "receives", step);
}

}  // namespace plumbline::judging
