// SPDX-License-Identifier: BSD-3-Clause
// Linear layers through one autograd node of our own, whose input gradient and weight gradient are two separate steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

/// Weight [out, in] as Hugging Face stores it; bias [out], undefined where the layer has none.
struct LinearWeights {
  at::Tensor weight;
  at::Tensor bias;
};

/// input [..., in] -> [..., out]: input W^T + b. Values and gradients have the bits of torch.nn.functional.linear and
/// its autograd. Keeps input and weight for the backward, nothing else.
at::Tensor linear(const at::Tensor& input, const LinearWeights& weights);

/// d loss / d input [..., in] from that of the output [rows, out].
at::Tensor linear_input_gradient(const at::Tensor& grad_output, const at::Tensor& weight, at::IntArrayRef input_shape);
/// d loss / d weight [out, in] from grad_output [rows, out] and input [..., in]. One tensor is made: the result.
at::Tensor linear_weight_gradient(const at::Tensor& grad_output, const at::Tensor& input);
/// d loss / d bias [out]: the sum of grad_output [rows, out] over its rows.
at::Tensor linear_bias_gradient(const at::Tensor& grad_output);

}  // namespace plumbline
