// SPDX-License-Identifier: BSD-3-Clause
#include "model/deferred_weights.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "model/gradient_sums.hpp"

namespace plumbline {
namespace {

// A thread-local, since a backward pass takes no user argument; the engine runs these nodes on the calling thread.
thread_local DeferredWeights* current_queue = nullptr;

}  // namespace

void DeferredWeights::add(const LinearWeights& weights, at::Tensor grad_output, at::Tensor input) {
  pending_.push_back({weights, std::move(grad_output), std::move(input)});
}

void DeferredWeights::run(std::size_t count) {
  const at::NoGradGuard no_grad;
  for (count = std::min(count, pending_.size()); count > 0; --count) {
    const Pending next = std::move(pending_.front());
    pending_.pop_front();
    // the same two operations in the same order as in the fused node and its gradient accumulator
    add_gradient(next.weights.weight, linear_weight_gradient(next.grad_output, next.input));
    if (next.weights.bias.defined()) add_gradient(next.weights.bias, linear_bias_gradient(next.grad_output));
  }
}

DeferWeightsScope::DeferWeightsScope(DeferredWeights& queue) : before_(std::exchange(current_queue, &queue)) {}

DeferWeightsScope::~DeferWeightsScope() {
  current_queue = before_;
}

DeferredWeights* DeferWeightsScope::current() {
  return current_queue;
}

}  // namespace plumbline
