// SPDX-License-Identifier: BSD-3-Clause
// The weight half of a split backward pass (zero-bubble schedules): inside a scope, linear layers compute only the
// input gradient and queue the weight gradient for later. Source: Zero Bubble, arXiv 2401.10241, section 2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <deque>

#include "model/linear.hpp"

namespace plumbline {

/// Deferred weight gradients in the order of the backward pass. Holds each layer's input and output gradient until its
/// weight gradient is computed.
class DeferredWeights {
 public:
  /// `grad_output` [rows, out], `input` [..., in].
  void add(const LinearWeights& weights, at::Tensor grad_output, at::Tensor input);

  /// Computes the oldest `count` (default: all), adds each to its weight's gradient and releases the tensors it needed.
  void run(std::size_t count = static_cast<std::size_t>(-1));

  std::size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    LinearWeights weights;
    at::Tensor grad_output;
    at::Tensor input;
  };
  std::deque<Pending> pending_;
};

/// In its lifetime, backward passes on this thread defer weight gradients to `queue`. Scopes nest; the innermost
/// applies.
class DeferWeightsScope {
 public:
  explicit DeferWeightsScope(DeferredWeights& queue);
  ~DeferWeightsScope();
  DeferWeightsScope(const DeferWeightsScope&) = delete;
  DeferWeightsScope& operator=(const DeferWeightsScope&) = delete;

  /// The queue of this thread's innermost scope, or null.
  static DeferredWeights* current();

 private:
  DeferredWeights* before_;
};

}  // namespace plumbline
