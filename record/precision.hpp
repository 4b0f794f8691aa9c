// SPDX-License-Identifier: BSD-3-Clause
// The word for what a training computes and is kept in: one dtype for both, or "mixed".
#pragma once

#include <string>

namespace plumbline {

/// Parameters, their gradients' sums and the optimiser's state in float32; computed with is a bfloat16 copy.
inline constexpr const char* mixed_precision = "mixed";

/// Of parameters, the sums of their gradients, and moments.
inline std::string trained_dtype(const std::string& precision) {
  return precision == mixed_precision ? "float32" : precision;
}

/// Of what is computed with, of activations and of what travels between stages.
inline std::string computed_dtype(const std::string& precision) {
  return precision == mixed_precision ? "bfloat16" : precision;
}

}  // namespace plumbline
