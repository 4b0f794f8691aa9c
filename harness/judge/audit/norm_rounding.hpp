// SPDX-License-Identifier: BSD-3-Clause
// How far a global norm that is summed rank by rank may lie from the root of the sum of its gradients' l2 squared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline::auditing {

/// Beyond it a limit tells nothing: a factor of 1.05 would pass, and such a norm is not judged.
inline constexpr double widest_norm_limit = 0.04;

/// What a norm is taken of.
struct NormTerms {
  std::string dtype = "float32";  ///< in which norms and squares are stored
  double tensors = 1;
  double largest = 1;  ///< elements of the largest tensor
  double ranks = 1;
};

/// The relative error of a norm that is accumulated in float32 (float64 of float64 gradients), as blocked sums err, and
/// stored in `dtype` wherever a norm or a square is kept: of each tensor, each rank, and in all. docs/exactness.md has
/// it as a table.
double norm_rounding(const NormTerms& terms);

/// Whether the manifest leaves open in which order and precision the norm is summed.
bool summed_by_rank(const Manifest& manifest);

/// A gradient of the step in hand.
struct GradientRow {
  std::int64_t rank = 0;
  const TensorRow* row = nullptr;
};

/// Rows of the step's gradients, of a tied weight one.
std::vector<GradientRow> gradients_once(const Record& record);

/// The root of the sum of l2 squared over the gradients, and how far a norm may lie from it.
struct NormByRows {
  double norm = 0;
  double limit = 0;  ///< relative, of a norm that is summed by rank
};

/// Nothing where the step's gradients are not recorded, or their l2 are not, as other writers of schema 1 left them.
std::optional<NormByRows> norm_by_rows(const Record& record);

}  // namespace plumbline::auditing
