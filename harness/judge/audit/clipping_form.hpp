// Clipping by the global norm, from docs/exactness.md (4).
#pragma once

#include <optional>

#include "harness/judge/audit/number_format.hpp"

namespace plumbline::auditing {

/// min(1, limit / norm) in fp64, without an epsilon; 1 without a limit, NaN for a norm that is.
double clip_coefficient_of(double norm, std::optional<double> limit);

/// A gradient's element times the coefficient: the product in fp64, then rounded once to the gradient's dtype.
double clipped(Storage storage, double gradient, double coefficient);

}  // namespace plumbline::auditing
