// SPDX-License-Identifier: BSD-3-Clause
// Clipping by the global norm, from docs/exactness.md (4).
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/audit/number_format.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

/// min(1, limit / norm) in fp64, without an epsilon; 1 without a limit, NaN for a norm that is.
double clip_coefficient_of(double norm, std::optional<double> limit);

/// What a right trainer may have computed from the norm that its record gives: the one above; where the manifest names
/// an epsilon, or a norm that is summed rank by rank, also limit / (norm + epsilon) with each operation rounded to
/// float32, float64 or the run's dtype (the limit too, or not), as one division or, as torch.nn.utils.clip_grad_norm_
/// does, by the reciprocal.
std::vector<double> right_coefficients(double norm, const Manifest& manifest);

/// A gradient's element times the coefficient: the product in fp64, then rounded once to the gradient's dtype.
double clipped(Storage storage, double gradient, double coefficient);

}  // namespace plumbline::auditing
