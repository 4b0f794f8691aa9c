// SPDX-License-Identifier: BSD-3-Clause
// Judges one case: the records are read in step with each other, and every applicable check sees each step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/record_reading.hpp"

namespace plumbline::judging {

struct JudgedChecks {
  std::vector<LocatedResult> results;            ///< in the order of the table
  std::optional<std::int64_t> norm_diverged_at;  ///< CellEvidence::norm_diverged_at
};

/// `repeated`: null without a repeated run. Throws InputError for a calibration that cannot be used.
JudgedChecks judge_checks(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                          RecordReading* repeated);

}  // namespace plumbline::judging
