// The token-weighted loss both trainers share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plumbline {

/// Summed cross-entropy over the valid labels of this microbatch / valid tokens of the whole step; 0 when none is
/// valid. logits [batch, sequence, vocabulary], labels int64 [batch, sequence] (shifted already, -100 = not valid).
/// Scalar, in logits' dtype.
at::Tensor token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens_of_step);

}  // namespace plumbline
