// SPDX-License-Identifier: BSD-3-Clause
// peak_bytes of memory.csv at most all that can have lived at once.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Of our own trainers' records that count bytes by owner: model state and tables with the peaks of activations,
/// transport buffers and other bytes, the ids and labels of all microbatches (made once for the first stage and once
/// for the last), the gradients that a listed order keeps, and the recorder's copies: of one tensor, at level dump of
/// all that it dumps. The least that it can be is memory_bounds'.
std::unique_ptr<MemoryPart> total_peak_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
