// SPDX-License-Identifier: BSD-3-Clause
// Upper bound of peak_bytes in memory.csv.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// For records of our own trainers that count bytes by owner. The bound is the sum of: model state and tables, the
/// peaks of activations, transport buffers and other bytes, the ids and labels of all microbatches (once for the first
/// stage and once for the last), the gradients kept for a listed order, and the recorder's copies (of one tensor; at
/// level dump, of all dumped tensors). For the lower bound see memory_bounds.
std::unique_ptr<MemoryPart> total_peak_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
