// SPDX-License-Identifier: BSD-3-Clause
// The ends of an autograd graph: of a stage, and of a unit that is recomputed in the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "model/graph_node.hpp"
#include "model/llama_slice.hpp"
#include "model/unit.hpp"

namespace plumbline {

/// Receives the gradient of a stage's input.
struct GradientSlot {
  at::Tensor gradient;  ///< undefined until the backward pass has reached the input
};

/// Makes a received activation the start of a graph: not a leaf (its gradient accumulator would keep a leaf alive),
/// with its gradient moved into the slot. `activation` must not require a gradient yet; it is modified in place.
std::shared_ptr<GradientSlot> begin_graph(at::Tensor& activation);

/// The end of a graph, held without the tensor's storage.
class GraphEnd {
 public:
  GraphEnd() = default;
  explicit GraphEnd(const at::Tensor& output);

  /// Runs the backward pass from here and frees the graph. `gradient` [shape of the output] is moved in, so that
  /// nothing else holds it during the pass; undefined for a loss, whose gradient is 1.
  void backward(at::Tensor gradient = {});

 private:
  torch::autograd::Edge edge_;  ///< invalid after the pass
};

/// slice.forward(unit, input) with the same values and gradients. The slice must outlive the graph. `input` must
/// not be modified until its backward pass: LibTorch throws if it was. Without autograd, this is the plain forward
/// pass.
at::Tensor forward_to_recompute(const LlamaSlice& slice, Unit unit, const at::Tensor& input);

}  // namespace plumbline
