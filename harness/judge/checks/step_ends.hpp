// SPDX-License-Identifier: BSD-3-Clause
// Nothing is kept from one step to the next.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// After the first step, which makes the optimiser's state, every step ends with as many bytes alive; in both records.
/// Counts step_ends.
std::unique_ptr<MemoryPart> step_ends_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
