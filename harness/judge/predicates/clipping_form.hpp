// SPDX-License-Identifier: BSD-3-Clause
// Clipping by the global norm, as in docs/exactness.md (4).
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/predicates/number_format.hpp"
#include "record/record.hpp"

namespace plumbline::predicates {

/// min(1, limit / norm) in float64, without an epsilon; 1 without a limit, NaN for a norm that is NaN.
double clip_coefficient_of(double norm, std::optional<double> limit);

/// All coefficients that a correct trainer may compute from the recorded norm: the one above; if the manifest has an
/// epsilon, or a norm that is summed rank by rank, also limit / (norm + epsilon) with each operation rounded to
/// float32, float64 or the run's dtype (the limit rounded or not), as a division or, like
/// torch.nn.utils.clip_grad_norm_, by the reciprocal.
std::vector<double> right_coefficients(double norm, const Manifest& manifest);

}  // namespace plumbline::predicates
