// SPDX-License-Identifier: BSD-3-Clause
#include "training/graph_edges.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <stdexcept>
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

}  // namespace plumbline
