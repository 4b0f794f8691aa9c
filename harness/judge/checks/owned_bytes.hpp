// SPDX-License-Identifier: BSD-3-Clause
// Bytes of tensors that are no model state, activation or transport buffer: tables, data, and what nobody owns.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Of our own trainers' records, at every step's end: all that lives is model state, table, data or other, to the byte;
/// the reference's tables are those of its longest row, and on a CPU its other bytes those that the contract's
/// arithmetic needs; a rank has tables for each of its stages at most, and of data and other at most the reference's in
/// the same step, also at their peak. `peak_bytes` lies between what the columns say lives at once and the sum of their
/// own peaks. Leaves out, and says so, what another trainer's or an older record does not count.
std::unique_ptr<MemoryPart> owned_bytes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
