// SPDX-License-Identifier: BSD-3-Clause
#include "training/graph_edges.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/graph_node.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

namespace {

using torch::autograd::Edge;
using torch::autograd::Engine;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// The last node of a stage's backward pass: stores the gradient of the stage's input.
struct CatchGradient : Node {
  std::shared_ptr<GradientSlot> slot;

  variable_list apply(variable_list&& gradients) override {
    slot->gradient = std::move(gradients.at(0));
    return {};
  }
};

/// The first node of a stage's backward pass: releases the gradient it was given. The engine's own root inputs are held
/// by its caller during the whole pass, which would keep one boundary tensor longer than the same backward pass inside
/// a whole model.
struct HandOverGradient : Node {
  at::Tensor gradient;

  variable_list apply(variable_list&& /*token*/) override { return {std::move(gradient)}; }
};

/// The engine needs a tensor for its root; this one is empty. Made once per thread, outside every measured owner.
const at::Tensor& root_token() {
  thread_local const at::Tensor token = [] {
    const MemoryScope scope(MemoryOwner::other);
    return at::zeros({});
  }();
  return token;
}

/// Keeps a backward pass on the calling thread. The engine would run GPU nodes on its own thread per device, which has
/// neither this rank's memory owner nor its queue of deferred weight gradients.
class OnThisThread {
 public:
  OnThisThread() : before_(state().get_multithreading_enabled()) { state().set_multithreading_enabled(false); }
  ~OnThisThread() { state().set_multithreading_enabled(before_); }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }
  bool before_;
};

}  // namespace

std::shared_ptr<GradientSlot> begin_graph(at::Tensor& activation) {
  if (activation.requires_grad()) throw std::logic_error("begin_graph: the activation belongs to a graph already");
  auto node = make_graph_node<CatchGradient>();
  node->slot = std::make_shared<GradientSlot>();
  auto slot = node->slot;
  torch::autograd::create_gradient_edge(activation, std::move(node));
  return slot;
}

GraphEnd::GraphEnd(const at::Tensor& output) : edge_(torch::autograd::impl::gradient_edge(output)) {
  if (!edge_.is_valid()) throw std::logic_error("GraphEnd: the output belongs to no graph");
}
void GraphEnd::backward(at::Tensor gradient) {
  if (!edge_.is_valid()) throw std::logic_error("GraphEnd: this graph was run backward already");
  if (!gradient.defined()) gradient = at::ones({}, edge_.function->input_metadata(edge_.input_nr).options());
  auto root = make_graph_node<HandOverGradient>();
  root->add_input_metadata(root_token());
  root->gradient = std::move(gradient);
  root->add_next_edge(std::exchange(edge_, {}));
  const OnThisThread on_this_thread;
  const torch::autograd::edge_list roots{Edge(std::move(root), 0)};
  Engine::get_default_engine().execute(roots, {root_token()}, /*keep_graph=*/false, /*create_graph=*/false,
                                       /*accumulate_grad=*/true);
}

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
