// SPDX-License-Identifier: BSD-3-Clause
// Error bound of a global norm that is summed rank by rank, relative to the root of the sum of its gradients' squared
// l2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline::predicates {

/// Larger limits are useless, because a factor of 1.05 would pass: such a norm is not judged.
inline constexpr double widest_norm_limit = 0.04;

/// Inputs of a norm.
struct NormTerms {
  std::string dtype = "float32";  ///< storage dtype of norms and squares
  double tensors = 1;
  double largest = 1;  ///< number of elements of the largest tensor
  double ranks = 1;
};

/// Bound of the relative error of a norm that is accumulated in float32 (float64 for float64 gradients) with the error
/// of blocked sums, and rounded to `dtype` wherever a norm or a square is stored: per tensor, per rank, and in total.
/// Table in docs/exactness.md.
double norm_rounding(const NormTerms& terms);

/// True if the manifest does not fix order and precision of the norm's summation.
bool summed_by_rank(const Manifest& manifest);

/// A gradient of the current step.
struct GradientRow {
  std::int64_t rank = 0;
  const TensorRow* row = nullptr;
};

/// Rows of the step's gradients, one for a tied weight.
std::vector<GradientRow> gradients_once(const Record& record);

/// The root of the sum of squared l2 over the gradients, and the allowed deviation of a norm.
struct NormByRows {
  double norm = 0;
  double limit = 0;  ///< relative, for a norm that is summed by rank
};

/// nullopt if the step's gradients are not recorded, or if other places hold parts of them.
std::optional<NormByRows> norm_by_rows(const Record& record);
/// For all places: each part counts once, and so does a tensor that places share.
std::optional<NormByRows> norm_by_rows(const std::vector<const Record*>& replicas);

}  // namespace plumbline::predicates
