// What the columns of memory.csv imply of one another.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Of every rank and step of both records: the peak is no less than the model state, than that state's parameters and
/// gradients with the activations at their peak, and than what is alive at the step's end; what is alive then is no
/// less than the model state; a reference has no transport buffers. Empty cells of an external record imply nothing.
std::unique_ptr<MemoryPart> memory_bounds_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
