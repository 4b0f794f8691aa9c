// SPDX-License-Identifier: BSD-3-Clause
// The precision of a training: one dtype for computation and storage, or "mixed".
#pragma once

#include <string>

namespace plumbline {

/// Parameters, accumulated gradients and optimizer state are float32; computation uses a bfloat16 copy.
inline constexpr const char* mixed_precision = "mixed";

/// dtype of parameters, accumulated gradients and moments.
inline std::string trained_dtype(const std::string& precision) {
  return precision == mixed_precision ? "float32" : precision;
}

/// dtype of computation, activations and boundary tensors.
inline std::string computed_dtype(const std::string& precision) {
  return precision == mixed_precision ? "bfloat16" : precision;
}

}  // namespace plumbline
