// SPDX-License-Identifier: BSD-3-Clause
// Inequalities between the columns of memory.csv.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// For every rank and step of both records: the peak is at least the model state, the state's parameters and gradients
/// plus the activation peak, and the bytes alive at the step's end, which are at least the model state; a reference has
/// no transport buffers. Empty cells of an external record imply nothing. Our own trainers allocate model state and
/// tables before the first action, so their peak is at least these plus the larger of the peaks of activations and
/// other bytes; if a reference sums in a listed order, plus the gradients of all microbatches. For the upper bound see
/// total_peak.
std::unique_ptr<MemoryPart> memory_bounds_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
