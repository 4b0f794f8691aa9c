// SPDX-License-Identifier: BSD-3-Clause
// No bytes are kept from one step to the next.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// After the first step, which allocates the optimiser's state, every step ends with the same number of live bytes, in
/// both records. Counts step_ends.
std::unique_ptr<MemoryPart> step_ends_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
