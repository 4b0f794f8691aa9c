// SPDX-License-Identifier: BSD-3-Clause
// The most common fault of pipelines: all gradients of a step are the reference's times a constant, such as the number
// of microbatches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// The constant factor of a step in which gradients differ.
struct GradientFactor {
  std::int64_t step = 0;
  double ratio = 0;   ///< 0: there is no common ratio, or it is 1
  std::string words;  ///< "all gradients of step 0 are 4 times the reference's: as many as microbatches"
};

/// nullopt if no gradient differs. A common ratio means: the ratios of l2 of all differing gradients agree within 1e-6.
std::optional<GradientFactor> gradient_factor(const StepEvidence& now);

}  // namespace plumbline::judging
