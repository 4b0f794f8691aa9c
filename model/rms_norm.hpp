// SPDX-License-Identifier: BSD-3-Clause
// Root mean square normalisation (Zhang and Sennrich, arXiv:1910.07467).
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// weight * (input * rsqrt(mean(input^2) + eps)) over the last dimension. Keeps input, the rsqrt and the normalised
/// input for the backward. bfloat16 is normalised in float32 and rounded once, before the product with the weight, as
/// transformers' LlamaRMSNorm does: it then keeps a float32 copy of the input, not the input, the rsqrt in float32, and
/// the normalised input in bfloat16.
at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

}  // namespace plumbline
