// SPDX-License-Identifier: BSD-3-Clause
// The token-weighted loss of both trainers, and the losses of a step's microbatches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

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

class StepLosses {
 public:
  /// Clears the previous step's losses.
  void begin(std::int64_t microbatches);
  /// `loss`: a scalar. Stores only its value.
  void set(std::int64_t microbatch, const at::Tensor& loss);
  /// By microbatch; 0 if none was set. On a GPU a step's first call synchronizes with all earlier work.
  const std::vector<float>& read();

 private:
  std::vector<float> values_;
  at::Tensor on_device_;  ///< float32 [microbatches]; undefined while all losses came from the CPU
  bool read_ = false;
};

/// Left-to-right sum in microbatch order, in fp32.
float step_loss(const std::vector<float>& losses);

}  // namespace plumbline
