// SPDX-License-Identifier: BSD-3-Clause
// A common fault of records: one run records losses before they are divided by microbatches or tokens, the other after.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// "all losses of step 0 are 10 times the reference's: as many as valid tokens in the step", and what to do; nullopt if
/// the losses of the step's microbatches have no ratio in common, or it is 1. A single loss must be a counted multiple.
std::optional<std::string> loss_factor_words(const StepEvidence& now);

}  // namespace plumbline::judging
