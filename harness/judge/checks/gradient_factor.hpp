// SPDX-License-Identifier: BSD-3-Clause
// The commonest fault of pipelines: all gradients of a step are the reference's times one number, as many as there are
// microbatches, say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/evidence/step_evidence.hpp"

namespace plumbline::judging {

/// Of a step in which gradients differ.
struct GradientFactor {
  std::int64_t step = 0;
  double ratio = 0;   ///< 0: they have no ratio in common
  std::string words;  ///< "all gradients of step 0 are 4 times the reference's: as many as microbatches"
};

/// Nothing where no gradient differs. One ratio: that of l2, within 1e-6 for each that differs.
std::optional<GradientFactor> gradient_factor(const StepEvidence& now);

}  // namespace plumbline::judging
