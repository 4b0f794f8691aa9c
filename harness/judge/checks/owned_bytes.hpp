// SPDX-License-Identifier: BSD-3-Clause
// Bytes of tensors other than model state, activations and transport buffers: tables, data, and bytes without an owner.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// For records of our own trainers, at every step's end: live bytes are exactly the sum of model state, tables, data
/// and other bytes; the reference's tables are those of its longest row, and on a CPU its other bytes those that the
/// contract's arithmetic needs; a rank has tables for each of its stages at most, and at most the reference's data and
/// other bytes of the same step, also at their peak. `peak_bytes` is between the bytes that the columns show to be
/// alive at once and the sum of their peaks. Skips and reports what an external or older record does not count.
std::unique_ptr<MemoryPart> owned_bytes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
