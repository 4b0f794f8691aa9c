// SPDX-License-Identifier: BSD-3-Clause
// Where a stage's graph begins and ends. Two small nodes make a stage's backward hold exactly the tensors that the
// whole model's would.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "model/graph_node.hpp"

namespace plumbline {

/// Receives the gradient of a stage's input.
struct GradientSlot {
  at::Tensor gradient;  ///< undefined until the backward pass reached the input
};

/// Turns a received activation into the start of a graph: no leaf (a leaf would be kept alive by its gradient
/// accumulator), its gradient moved into the slot. `activation` must not require a gradient yet; it is marked in place.
std::shared_ptr<GradientSlot> begin_graph(at::Tensor& activation);

/// The far end of a graph, kept without keeping the tensor's storage.
class GraphEnd {
 public:
  GraphEnd() = default;
  explicit GraphEnd(const at::Tensor& output);

  /// Runs the backward pass from here and frees the graph. `gradient` [as the output] is moved in, so that nobody else
  /// holds it while it runs; undefined, of a loss: its own, 1.
  void backward(at::Tensor gradient = {});

 private:
  torch::autograd::Edge edge_;  ///< invalid once it was run
};

}  // namespace plumbline
