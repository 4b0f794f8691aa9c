// SPDX-License-Identifier: BSD-3-Clause
// The most common fault of pipelines: all gradients of a step, or those of some stages, are the reference's times a
// constant, such as the number of microbatches.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// What the differing gradients of a step have in common.
struct GradientFactor {
  double ratio = 0;   ///< 0: there is no common ratio, or it is 1
  std::string words;  ///< "all gradients of step 0 are 4 times the reference's: as many as microbatches"; may be empty
};

/// nullopt if no gradient differs. A common ratio means: the ratios of l2 of all differing gradients agree within 1e-6,
/// or within a rounding of their dtype of 16 bits. Copies of a tied weight count once; one tensor alone has no ratio in
/// common with others.
std::optional<GradientFactor> gradient_factor(const StepEvidence& now);

/// True if the step has gradients in both records and all have the same bits.
bool gradients_agree(const StepEvidence& now);

}  // namespace plumbline::judging
