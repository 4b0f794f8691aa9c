// The inside of judge_cell: for callers that have read the records already.
#pragma once

#include "harness/judge/evidence/cell_evidence.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// `repeated` may be null. Throws InputError for a check that the plan names and that there is none of; never for what
/// a record holds.
/// `limits`: of the calibrated tier; null = bits.
CellVerdict judge_records(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
                          const RecordReading* repeated, WithinLimits* limits = nullptr);

/// In bits, or within the limits of the plan's calibration. Throws InputError too for a calibration that is not of this
/// training, whose shadow is not where it says, or for a candidate whose values are not dumped.
CellVerdict judge_in_tier(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
                          const RecordReading* repeated);

/// Whether every required check holds or does not apply.
bool all_required_hold(const CellVerdict& verdict);

}  // namespace plumbline::judging
