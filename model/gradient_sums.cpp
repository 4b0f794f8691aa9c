// SPDX-License-Identifier: BSD-3-Clause
#include "model/gradient_sums.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

#include "model/widened_sum.hpp"

namespace plumbline {
namespace {

class SumGradients final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit SumGradients(at::Tensor sum) : sum_(std::move(sum)) {}

  void operator()(const torch::autograd::Variable& leaf) override {
    if (!leaf.grad().defined()) return;  // deferred (DeferredWeights)
    add_widened(sum_, leaf.grad());
    leaf.mutable_grad().reset();
  }

 private:
  at::Tensor sum_;
};

}  // namespace

void add_gradients_into(const at::Tensor& leaf, const at::Tensor& sum) {
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::make_unique<SumGradients>(sum));
}

void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  const auto& hook = torch::autograd::impl::post_acc_grad_hooks(leaf);
  if (!hook) {
    leaf.mutable_grad().add_(gradient);
    return;
  }
  leaf.mutable_grad() = gradient;
  (*hook)(leaf);
}

}  // namespace plumbline
