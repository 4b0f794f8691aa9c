// SPDX-License-Identifier: BSD-3-Clause
#include "model/linear.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/deferred_weights.hpp"
#include "model/graph_node.hpp"

namespace plumbline {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// [..., width] -> [rows, width]. A view of contiguous tensors; copies only where torch's backward copies too.
at::Tensor as_rows(const at::Tensor& tensor) {
  return tensor.reshape({-1, tensor.size(-1)});
}

/// Edges: input, weight, and bias where there is one.
struct LinearBackward final : torch::autograd::Node {
  SavedVariable input_;
  SavedVariable weight_;
  LinearWeights leaves_;  ///< accumulate deferred weight gradients
  std::vector<std::int64_t> input_shape_;

  variable_list apply(variable_list&& grads) override {
    const std::lock_guard<std::mutex> lock(mutex_);  // required of a node that frees saved tensors
    variable_list result(num_outputs());
    if (!grads[0].defined()) {
      return result;
    }
    const at::Tensor grad_output = as_rows(std::exchange(grads[0], at::Tensor()));
    if (task_should_compute_output(0)) {
      result[0] = linear_input_gradient(grad_output, weight_.unpack(), input_shape_);
    }
    if (DeferredWeights* const deferred = DeferWeightsScope::current()) {
      deferred->add(leaves_, grad_output, input_.unpack());
      return result;
    }
    if (task_should_compute_output(1)) {
      result[1] = linear_weight_gradient(grad_output, input_.unpack());
    }
    if (num_outputs() > 2 && task_should_compute_output(2)) {
      result[2] = linear_bias_gradient(grad_output);
    }
    return result;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    input_.reset_data();
    weight_.reset_data();
    leaves_ = {};
  }

  std::string name() const override { return "LinearBackward"; }
};

at::Tensor compute(const at::Tensor& input, const LinearWeights& weights) {
  // Below autograd, as in torch's own nodes: the final view must not create a graph node.
  const at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor rows = as_rows(input);
  std::vector<std::int64_t> shape = input.sizes().vec();
  shape.back() = weights.weight.size(0);
  if (weights.bias.defined()) {
    return at::addmm(weights.bias, rows, weights.weight.t()).view(shape);
  }
  return at::mm(rows, weights.weight.t()).view(shape);
}

}  // namespace

at::Tensor linear(const at::Tensor& input, const LinearWeights& weights) {
  decltype(make_graph_node<LinearBackward>()) node;
  if (torch::autograd::compute_requires_grad(input, weights.weight, weights.bias)) {
    node = make_graph_node<LinearBackward>();
    node->set_next_edges(weights.bias.defined()
                             ? torch::autograd::collect_next_edges(input, weights.weight, weights.bias)
                             : torch::autograd::collect_next_edges(input, weights.weight));
    node->input_ = SavedVariable(input, /*is_output=*/false);
    node->weight_ = SavedVariable(weights.weight, /*is_output=*/false);
    node->leaves_ = weights;
    node->input_shape_ = input.sizes().vec();
  }
  at::Tensor output = compute(input, weights);
  if (node) {
    torch::autograd::set_history(output, node);
  }
  return output;
}

at::Tensor linear_input_gradient(const at::Tensor& grad_output, const at::Tensor& weight, at::IntArrayRef input_shape) {
  return at::mm(grad_output, weight).view(input_shape);
}

at::Tensor linear_weight_gradient(const at::Tensor& grad_output, const at::Tensor& input) {
  return at::mm(grad_output.t(), as_rows(input));
}

at::Tensor linear_bias_gradient(const at::Tensor& grad_output) {
  return at::sum(grad_output, {0});
}

}  // namespace plumbline
