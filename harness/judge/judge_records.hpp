// SPDX-License-Identifier: BSD-3-Clause
// The inside of judge_cell: for callers that need more than the verdict.
#pragma once

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/execution_order.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

struct JudgedCell {
  CellVerdict verdict;
  std::optional<ExecutionPoint> earliest;  ///< of its first divergence
};

/// Reads all records side by side, step by step, once, from where they are: their beginning. `repeated` may be null.
/// In bits, or within the limits of the plan's calibration. What a record holds is never thrown; InputError for a check
/// that the plan names and that there is none of, and for a calibration that cannot be taken (calibrated_tier.hpp).
JudgedCell judge_records(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                         RecordReading* repeated);

/// Whether every required check holds or does not apply.
bool all_required_hold(const CellVerdict& verdict);

}  // namespace plumbline::judging
