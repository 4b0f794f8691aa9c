// SPDX-License-Identifier: BSD-3-Clause
// The one place that knows how LibTorch owns the nodes of its graph: by std::shared_ptr up to 2.12, by
// c10::intrusive_ptr from 2.13 on.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>

namespace plumbline {

/// What an edge holds its node by.
using GraphNodePointer = decltype(torch::autograd::Edge::function);

/// A new node of class `Node`, which is derived from torch::autograd::Node. Returns LibTorch's owning pointer to
/// `Node`.
template <class Node>
auto make_graph_node() {
  if constexpr (std::is_same_v<GraphNodePointer, std::shared_ptr<torch::autograd::Node>>) {
    // deleteNode, found by its argument since newer LibTorch has none, frees long chains without recursion.
    return std::shared_ptr<Node>(new Node(), [](auto* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<Node>();
  }
}

}  // namespace plumbline
