// SPDX-License-Identifier: BSD-3-Clause
// The weight half of a split backward pass (zero-bubble schedules): while a scope is open, linear layers hand their
// weight gradients over to be computed later, and give on the input gradient alone. Source: Zero Bubble, arXiv
// 2401.10241, section 2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <deque>

#include "model/linear.hpp"

namespace plumbline {

/// Weight gradients put off, in the order of the backward pass. Keeps each layer's input and output gradient until its
/// own is computed.
class DeferredWeights {
 public:
  /// `grad_output` [rows, out], `input` [..., in].
  void add(const LinearWeights& weights, at::Tensor grad_output, at::Tensor input);

  /// Computes the oldest `count` (all by default), adds each into its weight's gradient and lets go of what it needed.
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

/// While it lives, backward passes on this thread defer into `queue`. Scopes nest; the inner one counts.
class DeferWeightsScope {
 public:
  explicit DeferWeightsScope(DeferredWeights& queue);
  ~DeferWeightsScope();
  DeferWeightsScope(const DeferWeightsScope&) = delete;
  DeferWeightsScope& operator=(const DeferWeightsScope&) = delete;

  /// The queue of this thread's innermost scope; null outside of any.
  static DeferredWeights* current();

 private:
  DeferredWeights* before_;
};

}  // namespace plumbline
