// SPDX-License-Identifier: BSD-3-Clause
// Bytes of parameters, gradients and optimiser state against what shapes give.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Every rank of both records against the shapes of its units, and the sum over the ranks against the reference's with
/// the second copy of a tied weight. Our own trainers to the byte; another's within what right ones differ by
/// (docs/record-format.md): how its optimiser counts steps, and whether a tied weight that one rank holds for both of
/// its uses is kept once or twice. What of another's optimiser has no known form is left out, and said. Counts
/// state_cells, state_sums.
std::unique_ptr<MemoryPart> model_state_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
