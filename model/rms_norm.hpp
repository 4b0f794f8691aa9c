// SPDX-License-Identifier: BSD-3-Clause
// Root mean square normalization (Zhang and Sennrich, arXiv:1910.07467).
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// weight * (input * rsqrt(mean(input^2) + eps)) over the last dimension. Saves input, rsqrt and normalized input for
/// the backward pass. bfloat16 input is normalized in float32 and rounded once before the product with the weight, as
/// in transformers' LlamaRMSNorm; it then saves a float32 copy of the input, the float32 rsqrt, and the bfloat16
/// normalized input.
at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

}  // namespace plumbline
