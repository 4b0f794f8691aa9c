// SPDX-License-Identifier: BSD-3-Clause
// What one look at a differing tensor shows: zeros, another tensor's bits, those of the step before, flipped signs.
#pragma once

#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// "; it has the reference's bits of step 0"; empty if nothing shows. The digests of the two rows differ.
std::string look_at_tensor(const StepEvidence& now, const TensorRow& theirs, const TensorRow& mine);

}  // namespace plumbline::judging
