// SPDX-License-Identifier: BSD-3-Clause
// What the columns of memory.csv imply of one another.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Of every rank and step of both records: the peak is no less than the model state, than that state's parameters and
/// gradients with the activations at their peak, and than what is alive at the step's end; what is alive then is no
/// less than the model state; a reference has no transport buffers. Empty cells of an external record imply nothing. Of
/// a record of our own trainers, whose model state and tables are there before the first action, the peak is no less
/// than these with the larger of the activations' and other bytes' peaks; of a reference that sums in a listed order,
/// than these with the gradients of all microbatches. The most that it can be is total_peak's.
std::unique_ptr<MemoryPart> memory_bounds_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
