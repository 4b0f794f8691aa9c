// SPDX-License-Identifier: BSD-3-Clause
#include "training/train_state.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <stdexcept>

#include "model/tied_names.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

at::Tensor TrainedParameter::gradient() const {
  at::Tensor accumulator = gradient_sum.defined() ? gradient_sum : value.grad();
  if (!accumulator.defined()) throw std::logic_error("parameter " + name + " has no gradient tensor");
  return accumulator;
}

TrainState::TrainState(const OptimizerSettings& optimizer, const std::vector<Parameter>& slice) {
  add(optimizer, 0, slice);
}

void TrainState::add(const OptimizerSettings& optimizer, std::int64_t stage, const std::vector<Parameter>& slice) {
  const bool adamw = optimizer.name == "adamw";
  if (!adamw && optimizer.name != "sgd") throw std::logic_error("unknown optimizer " + optimizer.name);
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::optimizer);
  for (const Parameter& parameter : slice) {
    TrainedParameter trained{parameter, stage, {}, {}, {}};
    if (!parameter.alias && adamw) {
      trained.moment1 = at::zeros_like(parameter.trained());
      trained.moment2 = at::zeros_like(parameter.trained());
      trained.updates = at::zeros({}, parameter.value.options().dtype(at::kFloat));
    } else if (!parameter.alias && optimizer.momentum != 0) {
      trained.moment1 = at::zeros_like(parameter.trained());
    }
    parameters.push_back(std::move(trained));
  }
}

std::int64_t TrainState::optimizer_bytes() const {
  std::int64_t bytes = 0;
  for (const TrainedParameter& parameter : parameters) {
    for (const at::Tensor& tensor : {parameter.moment1, parameter.moment2, parameter.updates}) {
      bytes += tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
    }
  }
  return bytes;
}

void round_masters(const TrainState& state) {
  for (const TrainedParameter& parameter : state.parameters) parameter.round_master();
}

std::vector<at::Tensor> gradient_runs(const TrainState& state) {
  std::vector<at::Tensor> runs;
  at::Tensor first;  // of the run
  std::int64_t elements = 0;
  const auto end_run = [&] {
    if (first.defined()) runs.push_back(first.as_strided({elements}, {1}));
  };
  for (const TrainedParameter& parameter : state.parameters) {
    const at::Tensor gradient = parameter.gradient();
    if (!gradient.is_contiguous()) throw std::logic_error("the gradient of " + parameter.name + " is not contiguous");
    if (!first.defined() || !first.is_alias_of(gradient) ||
        first.storage_offset() + elements != gradient.storage_offset()) {
      end_run();
      first = gradient;
      elements = 0;
    }
    elements += gradient.numel();
  }
  end_run();
  return runs;
}

void zero_gradients(const TrainState& state) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& run : gradient_runs(state)) run.zero_();
}

TiedWeight::TiedWeight(bool tied, const TrainState& state) {
  if (!tied) return;
  for (const TrainedParameter& parameter : state.parameters) {
    if (parameter.name == embedding_weight) embedding_ = &parameter;
    if (parameter.name == head_weight) head_ = &parameter;
  }
}

std::vector<const TrainedParameter*> TiedWeight::held() const {
  std::vector<const TrainedParameter*> copies;
  for (const TrainedParameter* copy : {embedding_, head_}) {
    if (copy != nullptr) copies.push_back(copy);
  }
  return copies;
}

void TiedWeight::add_uses() const {
  if (!both()) return;
  const at::NoGradGuard no_grad;
  at::Tensor sum = embedding_->gradient();
  at::Tensor head_use = head_->gradient();
  sum.add_(head_use);
  head_use.copy_(sum);
}

}  // namespace plumbline
