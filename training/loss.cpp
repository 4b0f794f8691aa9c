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
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
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
#include "training/memory_meter.hpp"

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

/// Hands on the gradient of the logits, which the forward pass has computed.
struct LossBackward final : torch::autograd::Node {
  at::Tensor gradient_;  ///< of the logits, in their shape and dtype

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard<std::mutex> lock(mutex_);  // required of a node that frees saved tensors
    variable_list result(num_outputs());
    if (!gradients[0].defined()) return result;
    const at::NoGradGuard no_graph;
    result[0] = std::exchange(gradient_, at::Tensor());
    // It is 1 in a backward pass that begins at the loss; only on a CPU does the host know.
    if (!gradients[0].is_cpu() || gradients[0].item<double>() != 1) result[0].mul_(gradients[0]);
    return result;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    gradient_.reset();
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
  const at::Tensor label_of_row = labels.view({-1});
  at::Tensor loss;
  {
    const at::NoGradGuard no_graph;
    const at::Tensor flat = logits.detach().view({-1, logits.size(-1)});
    const at::Tensor of_labels = at::empty({flat.size(0), 1}, flat.options().dtype(wide));
    in_chunks(flat, [&](std::int64_t begin, std::int64_t rows) {
      const at::Tensor given = flat.narrow(0, begin, rows), label = label_of_row.narrow(0, begin, rows);
      at::Tensor part = at::log_softmax(given.to(wide), 1);
      of_labels.narrow(0, begin, rows).copy_(part.gather(1, label.clamp_min(0).unsqueeze(1)));
      if (!with_graph) return;
      if (given.scalar_type() == wide) part = given.copy_(part);  // one chunk less at a time
      const at::Tensor of_sum = at::ones({}, part.options()).div_(at::Scalar(valid_tokens_of_step));
      at::Tensor gradient = at::nll_loss_backward(of_sum, part, label, {}, at::Reduction::Sum, ignored_label, of_sum);
      // Row by row: sums the incoming elements, then computes each element, which may overwrite its input.
      at::_log_softmax_backward_data_out(gradient, gradient, part, 1, wide);
      given.copy_(gradient);
    });
    // Reduction "sum" and one division have transformers' bits; a sum of separate losses does not. Without valid labels
    // the sum is 0 with zero gradients, where a mean would be 0/0.
    loss =
        std::get<0>(at::nll_loss_forward(of_labels, label_of_row.clamp_max(0), {}, at::Reduction::Sum, ignored_label))
            .div(at::Scalar(valid_tokens_of_step));
  }
  if (with_graph) {
    const auto node = make_graph_node<LossBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(logits));
    node->gradient_ = logits.detach();
    torch::autograd::set_history(loss, node);
  }
  return loss;
}

void StepLosses::begin(std::int64_t microbatches) {
  values_.assign(static_cast<std::size_t>(microbatches), 0.0F);
  if (on_device_.defined()) on_device_.zero_();  // a microbatch without a loss must not keep the previous step's
  read_ = false;
}

void StepLosses::set(std::int64_t microbatch, const at::Tensor& loss) {
  if (loss.is_cpu()) {
    values_.at(static_cast<std::size_t>(microbatch)) = loss.item<float>();
    return;
  }
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::data);
  const auto microbatches = static_cast<std::int64_t>(values_.size());
  if (!on_device_.defined() || on_device_.numel() != microbatches) {
    on_device_ = at::zeros({microbatches}, loss.options().dtype(at::kFloat));
  }
  on_device_.select(0, microbatch).copy_(loss.detach());
}

const std::vector<float>& StepLosses::read() {
  if (on_device_.defined() && !read_) {
    const MemoryScope scope(MemoryOwner::data);
    const at::Tensor host = on_device_.to(at::kCPU);
    const auto* first = host.const_data_ptr<float>();
    std::copy(first, first + host.numel(), values_.begin());
  }
  read_ = true;
  return values_;
}

float step_loss(const std::vector<float>& losses) {
  float sum = 0;
  for (const float loss : losses) sum += loss;
  return sum;
}

}  // namespace plumbline
