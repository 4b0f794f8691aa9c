// peak_bytes of memory.csv between what its row says lived at once and all that can have.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Of our own trainers' records that count bytes by owner. At least: what lives at the step's end; model state and
/// tables with the peak of activations, or that of other bytes. At most: model state and tables with the peaks of
/// activations, transport buffers and other bytes, the ids and labels of all microbatches (made once for the first
/// stage and once for the last), and the recorder's copies: of one tensor, at level dump of all that it dumps.
std::unique_ptr<MemoryPart> total_peak_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
