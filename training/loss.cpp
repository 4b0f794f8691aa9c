// SPDX-License-Identifier: BSD-3-Clause
#include "training/loss.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/graph_node.hpp"
#include "support/ignored_label.hpp"

namespace plumbline {
namespace {

using torch::autograd::variable_list;

/// Rows are processed in chunks of this many elements, at least one row: 8 MiB of float32.
constexpr std::int64_t elements_at_a_time = std::int64_t{1} << 21;

/// Calls `compute(first row, rows)` for all rows in order.
template <typename Compute>
void in_chunks(const at::Tensor& matrix, const Compute& compute) {
  const std::int64_t rows = matrix.size(0);
  const std::int64_t most = std::max<std::int64_t>(1, elements_at_a_time / matrix.size(1));
  for (std::int64_t begin = 0; begin < rows; begin += most) compute(begin, std::min(most, rows - begin));
}

/// The gradient of the summed loss, from cross-entropy's saved log-probabilities [rows, vocabulary] in loss_dtype.
struct LossBackward final : torch::autograd::Node {
  at::Tensor log_probabilities_, labels_, weight_;
  std::vector<std::int64_t> shape_;  ///< of the logits
  at::ScalarType dtype_ = at::kFloat;

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard<std::mutex> lock(mutex_);  // required of a node that frees saved tensors
    variable_list result(num_outputs());
    if (!gradients[0].defined()) return result;
    const at::NoGradGuard no_graph;
    const at::Tensor kept = std::exchange(log_probabilities_, at::Tensor());
    // In place if the dtype is that of the logits.
    const at::Tensor made = kept.scalar_type() == dtype_ ? kept : at::empty(kept.sizes(), kept.options().dtype(dtype_));
    in_chunks(kept, [&](std::int64_t begin, std::int64_t rows) {
      const at::Tensor part = kept.narrow(0, begin, rows);
      at::Tensor gradient = at::nll_loss_backward(gradients[0], part, labels_.narrow(0, begin, rows), {},
                                                  at::Reduction::Sum, ignored_label, weight_);
      // Row by row: sums the incoming elements, then computes each element, which may overwrite its input.
      at::_log_softmax_backward_data_out(gradient, gradient, part, 1, part.scalar_type());
      made.narrow(0, begin, rows).copy_(gradient);
    });
    result[0] = made.view(shape_);
    return result;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    log_probabilities_ = labels_ = weight_ = at::Tensor();
  }

  std::string name() const override { return "LossBackward"; }
};

}  // namespace

at::ScalarType loss_dtype(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? at::kFloat : dtype;
}

at::Tensor token_weighted_loss(const at::Tensor& logits, const at::Tensor& labels, std::int64_t valid_tokens_of_step) {
  if (valid_tokens_of_step < 1) {
    throw std::logic_error("a step without a valid token has no loss");
  }
  const bool with_graph = torch::autograd::compute_requires_grad(logits);
  const at::ScalarType wide = loss_dtype(logits.scalar_type());
  at::Tensor sum, kept, weight;
  const at::Tensor label_of_row = labels.view({-1});
  {
    const at::NoGradGuard no_graph;
    const at::Tensor flat = logits.detach().view({-1, logits.size(-1)});
    if (with_graph) kept = flat.scalar_type() == wide ? flat : at::empty(flat.sizes(), flat.options().dtype(wide));
    const at::Tensor of_labels = at::empty({flat.size(0), 1}, flat.options().dtype(wide));
    in_chunks(flat, [&](std::int64_t begin, std::int64_t rows) {
      const at::Tensor given = flat.narrow(0, begin, rows);
      const at::Tensor widened =
          with_graph && given.scalar_type() != wide ? kept.narrow(0, begin, rows).copy_(given) : given.to(wide);
      const at::Tensor part = at::log_softmax(widened, 1);
      const at::Tensor label = label_of_row.narrow(0, begin, rows).clamp_min(0).unsqueeze(1);
      of_labels.narrow(0, begin, rows).copy_(part.gather(1, label));
      if (with_graph) kept.narrow(0, begin, rows).copy_(part);
    });
    // Reduction "sum" and one division have transformers' bits; a sum of separate losses does not. Without valid labels
    // the sum is 0 with zero gradients, where a mean would be 0/0.
    std::tie(sum, weight) =
        at::nll_loss_forward(of_labels, label_of_row.clamp_max(0), {}, at::Reduction::Sum, ignored_label);
  }
  if (with_graph) {
    const auto node = make_graph_node<LossBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(logits));
    node->log_probabilities_ = std::move(kept);
    node->labels_ = label_of_row;
    node->weight_ = weight;
    node->shape_ = logits.sizes().vec();
    node->dtype_ = logits.scalar_type();
    torch::autograd::set_history(sum, node);
  }
  // The Scalar overload: the Tensor overload would save its divisor for backward.
  return at::div(sum, at::Scalar(valid_tokens_of_step));
}

}  // namespace plumbline
