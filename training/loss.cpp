#include "training/loss.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/div.h>

#include <stdexcept>

namespace plumbline {

at::ScalarType loss_dtype(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? at::kFloat : dtype;
}

at::Tensor token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens_of_step) {
  if (valid_tokens_of_step < 1) {
    throw std::logic_error("a step without a valid token has no loss");
  }
  // [batch * sequence, vocabulary]
  const at::Tensor flat = logits.to(loss_dtype(logits.scalar_type())).view({-1, logits.size(-1)});
  // Reduction "sum" and one division equal transformers' bits; a sum of single losses does not (ground.md). With no
  // valid label the sum is an empty one: 0, with zero gradients, where a mean would be 0/0.
  const at::Tensor sum = at::cross_entropy_loss(flat, labels.view({-1}), {}, at::Reduction::Sum, -100);
  // The Scalar form: the Tensor form would keep its divisor until backward.
  return at::div(sum, at::Scalar(valid_tokens_of_step));
}

}  // namespace plumbline
