// SPDX-License-Identifier: BSD-3-Clause
// The token-weighted loss of both trainers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

/// The dtype in which the loss of a model in `dtype`, and so the first gradient of its backward pass, is computed:
/// float32 for bfloat16, as in transformers, else the model's own.
at::ScalarType loss_dtype(at::ScalarType dtype);

/// Summed cross-entropy over the valid labels of this microbatch / valid tokens of the whole step; 0 if there are none.
/// logits [batch, sequence, vocabulary], labels int64 [batch, sequence] (already shifted, -100 = not valid). Returns a
/// scalar in loss_dtype of the logits; bfloat16 logits are widened first, so that sum and exponentials are float32.
/// Rows are processed in chunks, bit-identical to cross_entropy over all of them. With autograd the logits are
/// overwritten with their gradient.
at::Tensor token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens_of_step);

}  // namespace plumbline
