// The inside of judge_cell: for callers that have read the records already.
#pragma once

#include "harness/cell_evidence.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// `repeated` may be null. Throws InputError for a check that the plan names and that there is none of; never for what
/// a record holds.
/// `limits`: of the calibrated tier; null = bits.
CellVerdict judge_records(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
                          const RecordReading* repeated, WithinLimits* limits = nullptr);

/// Whether every required check holds or does not apply.
bool all_required_hold(const CellVerdict& verdict);

}  // namespace plumbline::judging
