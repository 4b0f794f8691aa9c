// SPDX-License-Identifier: BSD-3-Clause
// Implementation of judge_cell, for callers that need more than the verdict.
#pragma once

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/execution_order.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

struct JudgedCell {
  CellVerdict verdict;
  std::optional<ExecutionPoint> earliest;  ///< point of its first divergence
};

/// Reads all records once, in step with each other, from their current positions at the beginning. `repeated` may be
/// null. Compares bits, or values within the limits of the plan's calibration. Never throws because of a record's
/// content. Throws InputError for an unknown check in the plan, and for a calibration that cannot be used
/// (calibrated_mode.hpp).
JudgedCell judge_records(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                         RecordReading* repeated);

/// True if every required check holds or does not apply.
bool all_required_hold(const CellVerdict& verdict);

}  // namespace plumbline::judging
