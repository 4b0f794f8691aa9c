// SPDX-License-Identifier: BSD-3-Clause
// The token-weighted loss both trainers share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

/// What the loss of a model in `dtype` is computed in, and so the gradient that starts its backward pass: float32 for
/// bfloat16, as transformers does, else the model's own.
at::ScalarType loss_dtype(at::ScalarType dtype);

/// Summed cross-entropy over the valid labels of this microbatch / valid tokens of the whole step; 0 when none is
/// valid. logits [batch, sequence, vocabulary], labels int64 [batch, sequence] (shifted already, -100 = not valid).
/// Scalar in loss_dtype of the logits; bfloat16 logits are widened first, so that sum and exponentials are float32.
/// Rows are computed some at a time, with the bits of cross_entropy over all of them. With a graph the logits' memory is
/// taken: unless they are bfloat16 it holds their log-probabilities afterwards, and then their gradient.
at::Tensor token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens_of_step);

}  // namespace plumbline
