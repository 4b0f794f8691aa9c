// SPDX-License-Identifier: BSD-3-Clause
// Hides how LibTorch owns the nodes of its graph: std::shared_ptr up to 2.12, c10::intrusive_ptr from 2.13 on.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>

namespace plumbline {

/// The pointer type by which an edge owns its node.
using GraphNodePointer = decltype(torch::autograd::Edge::function);

/// Creates a node of class `Node`, derived from torch::autograd::Node. Returns LibTorch's owning pointer.
template <class Node>
auto make_graph_node() {
  if constexpr (std::is_same_v<GraphNodePointer, std::shared_ptr<torch::autograd::Node>>) {
    // deleteNode frees long chains without recursion. It is found by argument-dependent lookup, since newer LibTorch
    // lacks it.
    return std::shared_ptr<Node>(new Node(), [](auto* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<Node>();
  }
}

}  // namespace plumbline
