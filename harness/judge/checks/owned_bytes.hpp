// Bytes of tensors that are no model state, activation or transport buffer: tables, data, and what nobody owns.
#pragma once

#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/evidence/memory_steps.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Of our own trainers' records, at every step's end: all that lives is model state, table, data or other, to the byte;
/// the reference's tables are those of its longest row, and on a CPU its other bytes those that the contract's
/// arithmetic needs; a rank has tables for each of its stages at most, and of data and other at most the reference's in
/// the same step, also at their peak. `peak_bytes` lies between what the columns say lives at once and the sum of their
/// own peaks. Leaves out, and says so, what another trainer's or an older record does not count.
void compare_owned_bytes(const CellEvidence& evidence, const MemorySteps& reference, const MemorySteps& candidate,
                         Judgement& judgement);

}  // namespace plumbline::judging
