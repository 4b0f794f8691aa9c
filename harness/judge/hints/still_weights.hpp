// SPDX-License-Identifier: BSD-3-Clause
// Stages whose weights a step left as they were in one record alone: an optimizer that did not step, or steps on other
// tensors.
#pragma once

#include <map>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// By stage of the candidate: "stage 0's weights did not change in step 1 (they have the bits of step 0)".
std::map<std::int64_t, std::string> still_weights(const StepEvidence& now);

}  // namespace plumbline::judging
