// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_losses.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "training/memory_meter.hpp"

namespace plumbline {

void StepLosses::begin(std::int64_t microbatches) {
  values_.assign(static_cast<std::size_t>(microbatches), 0.0F);
  if (on_device_.defined()) on_device_.zero_();  // a microbatch without a loss must not keep the previous step's
  read_ = false;
}

void StepLosses::set(std::int64_t microbatch, const at::Tensor& loss) {
  if (loss.is_cpu()) {
    values_.at(static_cast<std::size_t>(microbatch)) = loss.item<float>();
    return;
  }
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::data);
  const auto microbatches = static_cast<std::int64_t>(values_.size());
  if (!on_device_.defined() || on_device_.numel() != microbatches) {
    on_device_ = at::zeros({microbatches}, loss.options().dtype(at::kFloat));
  }
  on_device_.select(0, microbatch).copy_(loss.detach());
}

const std::vector<float>& StepLosses::read() {
  if (on_device_.defined() && !read_) {
    const MemoryScope scope(MemoryOwner::data);
    const at::Tensor host = on_device_.to(at::kCPU);
    const auto* first = host.const_data_ptr<float>();
    std::copy(first, first + host.numel(), values_.begin());
  }
  read_ = true;
  return values_;
}

float step_loss(const std::vector<float>& losses) {
  float sum = 0;
  for (const float loss : losses) sum += loss;
  return sum;
}

}  // namespace plumbline
