// SPDX-License-Identifier: BSD-3-Clause
// Linear layers as one autograd node whose input gradient and weight gradient can be computed separately.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

/// Weight [out, in] as Hugging Face stores it; bias [out], undefined if the layer has none.
struct LinearWeights {
  at::Tensor weight;
  at::Tensor bias;
};

/// input [..., in] -> [..., out]: input W^T + b. Values and gradients are bit-identical to torch.nn.functional.linear
/// with autograd. Saves only input and weight for the backward pass.
at::Tensor linear(const at::Tensor& input, const LinearWeights& weights);

/// d loss / d input [..., in], given d loss / d output [rows, out].
at::Tensor linear_input_gradient(const at::Tensor& grad_output, const at::Tensor& weight, at::IntArrayRef input_shape);
/// d loss / d weight [out, in], given grad_output [rows, out] and input [..., in]. Allocates only the result.
at::Tensor linear_weight_gradient(const at::Tensor& grad_output, const at::Tensor& input);
/// d loss / d bias [out]: the sum of grad_output [rows, out] over its rows.
at::Tensor linear_bias_gradient(const at::Tensor& grad_output);

}  // namespace plumbline
