// Root mean square normalisation (Zhang and Sennrich, arXiv:1910.07467).
#pragma once

#include <ATen/core/Tensor.h>

namespace plumbline {

/// weight * (input * rsqrt(mean(input^2) + eps)) over the last dimension. Keeps input, the rsqrt and the normalised
/// input for the backward.
at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

}  // namespace plumbline
