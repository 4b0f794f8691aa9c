// SPDX-License-Identifier: BSD-3-Clause
// Compares bytes of parameters, gradients and optimiser state with the shapes.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Compares every rank of both records with the shapes of its units, and the sum over ranks with the reference's plus
/// the second copy of a tied weight. Exact for our own trainers; for external ones within the range of correct
/// implementations (docs/record-format.md): how the optimiser counts steps, and whether a rank with both uses of a tied
/// weight keeps it once or twice. Optimiser state without a known form is skipped and reported. Counts state_cells,
/// state_sums.
std::unique_ptr<MemoryPart> model_state_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
