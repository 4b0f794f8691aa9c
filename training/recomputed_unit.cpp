// SPDX-License-Identifier: BSD-3-Clause
#include "training/recomputed_unit.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <mutex>
#include <string>
#include <utility>

#include "model/graph_node.hpp"
#include "training/graph_edges.hpp"

namespace plumbline {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// One edge: the input. The second pass accumulates the parameters' gradients.
struct RecomputedUnit final : torch::autograd::Node {
  const LlamaSlice* slice_ = nullptr;
  Unit unit_;
  SavedVariable input_;

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard<std::mutex> lock(mutex_);  // required of a node that frees saved tensors
    variable_list result(num_outputs());
    if (!gradients[0].defined()) return result;
    at::Tensor gradient = std::exchange(gradients[0], at::Tensor());
    at::Tensor input = input_.unpack().variable_data();  // not part of the first pass's graph
    input_.reset_data();
    const auto slot = begin_graph(input);
    GraphEnd end = [&] {
      const at::AutoGradMode with_graph(true);
      return GraphEnd(slice_->forward(unit_, std::exchange(input, at::Tensor())));
    }();
    end.backward(std::move(gradient));
    result[0] = std::move(slot->gradient);
    return result;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    input_.reset_data();
  }

  std::string name() const override { return "RecomputedUnit"; }
};

}  // namespace

at::Tensor forward_to_recompute(const LlamaSlice& slice, Unit unit, const at::Tensor& input) {
  if (!at::GradMode::is_enabled()) return slice.forward(unit, input);
  const auto node = make_graph_node<RecomputedUnit>();
  node->set_next_edges(torch::autograd::collect_next_edges(input));
  node->slice_ = &slice;
  node->unit_ = unit;
  node->input_ = SavedVariable(input, /*is_output=*/false);
  at::Tensor output = [&] {
    const at::NoGradGuard no_graph;
    return slice.forward(unit, input);
  }();
  torch::autograd::set_history(output, node);
  return output;
}

}  // namespace plumbline
