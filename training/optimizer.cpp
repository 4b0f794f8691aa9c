#include "training/optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/add.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <stdexcept>

#include "training/memory_meter.hpp"

namespace plumbline {

namespace {

constexpr const char* adamw = "adamw";
constexpr const char* sgd = "sgd";

/// torch.optim.AdamW(fused=True): the step counts first, one fp32 counter a parameter.
void step_adamw(const OptimizerSettings& settings, const std::vector<at::Tensor>& values,
                const std::vector<Optimizer::State>& states, double learning_rate) {
  std::vector<at::Tensor> gradients, averages, squares, steps;
  for (std::size_t i = 0; i < values.size(); ++i) {
    gradients.push_back(values[i].grad());
    averages.push_back(states[i].moment1);
    squares.push_back(states[i].moment2);
    steps.push_back(states[i].step);
    steps.back().add_(1);
  }
  at::_fused_adamw_(values, gradients, averages, squares, {}, steps, learning_rate, settings.beta1, settings.beta2,
                    settings.weight_decay, settings.eps, /*amsgrad=*/false, /*maximize=*/false);
}

/// torch.optim.SGD(foreach=False, fused=False), dampening 0, no Nesterov: g += wd p; b = g at first, then m b + g;
/// p -= lr b. The decayed gradient is a tensor of its own, since the recorded one must stay as it is.
void step_sgd(const OptimizerSettings& settings, const std::vector<at::Tensor>& values,
              const std::vector<Optimizer::State>& states, double learning_rate, bool first) {
  // As a tensor, which is what Python's mul_ makes of a number: given as a Scalar, LibTorch takes it for the first
  // factor and rounds it to the gradient's dtype, 0.9 to 0.8984 in bfloat16.
  const at::Tensor momentum = at::scalar_tensor(settings.momentum, at::kDouble);
  for (std::size_t i = 0; i < values.size(); ++i) {
    at::Tensor direction = values[i].grad();
    if (settings.weight_decay != 0) {
      direction = at::add(direction, values[i], settings.weight_decay);
    }
    if (settings.momentum != 0) {
      at::Tensor buffer = states[i].moment1;
      if (first) {
        buffer.copy_(direction);
      } else {
        buffer.mul_(momentum).add_(direction, 1);
      }
      direction = buffer;
    }
    values[i].add_(direction, -learning_rate);
  }
}

}  // namespace

Optimizer::Optimizer(const OptimizerSettings& settings, std::vector<Parameter>& parameters) : settings_(settings) {
  if (settings.name != adamw && settings.name != sgd) {
    throw std::logic_error("unknown optimiser " + settings.name);
  }
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::optimizer);
  for (const Parameter& parameter : parameters) {
    if (parameter.alias) {
      continue;
    }
    State state{parameter.name, {}, {}, {}};
    if (settings.name == adamw) {
      state.moment1 = at::zeros_like(parameter.value);
      state.moment2 = at::zeros_like(parameter.value);
      state.step = at::zeros({}, parameter.value.options().dtype(at::kFloat));
    } else if (settings.momentum != 0) {
      state.moment1 = at::zeros_like(parameter.value);
    }
    values_.push_back(parameter.value);
    states_.push_back(std::move(state));
  }
}

void Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  // A rank that owns nothing still counts its steps.
  if (!values_.empty()) {
    if (settings_.name == adamw) {
      step_adamw(settings_, values_, states_, learning_rate);
    } else {
      step_sgd(settings_, values_, states_, learning_rate, steps_done_ == 0);
    }
  }
  ++steps_done_;
}

std::int64_t Optimizer::state_bytes() const {
  std::int64_t bytes = 0;
  for (const State& state : states_) {
    for (const at::Tensor& tensor : {state.moment1, state.moment2, state.step}) {
      bytes += tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
    }
  }
  return bytes;
}

}  // namespace plumbline
