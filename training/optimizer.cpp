// SPDX-License-Identifier: BSD-3-Clause
#include "training/optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/add.h>
#include <ATen/ops/scalar_tensor.h>

#include <vector>

#include "training/memory_meter.hpp"

namespace plumbline {

namespace {

/// torch.optim.AdamW(fused=True) for one of its parameter groups: increments the step counters first, one fp32 counter
/// per parameter.
void step_adamw(const OptimizerSettings& settings, const TrainState& state, double learning_rate, double decay) {
  std::vector<at::Tensor> values, gradients, averages, squares, updates;
  for (const TrainedParameter& parameter : state.parameters) {
    if (parameter.alias || settings.decay_of(parameter.value.dim()) != decay) continue;
    values.push_back(parameter.trained());
    gradients.push_back(parameter.gradient());
    averages.push_back(parameter.moment1);
    squares.push_back(parameter.moment2);
    updates.push_back(parameter.updates);
  }
  if (values.empty()) return;
  at::_foreach_add_(updates, 1);
  at::_fused_adamw_(values, gradients, averages, squares, {}, updates, learning_rate, settings.beta1, settings.beta2,
                    decay, settings.eps, /*amsgrad=*/false, /*maximize=*/false);
}

/// torch.optim.SGD(foreach=False, fused=False), dampening 0, no Nesterov: g += wd p; b = g at first, then m b + g; p -=
/// lr b. The decayed gradient is a new tensor, since the recorded gradient must not change.
void step_sgd(const OptimizerSettings& settings, const TrainState& state, double learning_rate) {
  // A tensor, as Python's mul_ makes of a number: LibTorch would round a Scalar to the gradient's dtype (0.9 to 0.8984
  // in bfloat16).
  const at::Tensor momentum = at::scalar_tensor(settings.momentum, at::kDouble);
  for (const TrainedParameter& parameter : state.parameters) {
    if (parameter.alias) continue;
    at::Tensor direction = parameter.gradient(), value = parameter.trained();
    const double decay = settings.decay_of(value.dim());
    if (decay != 0) direction = at::add(direction, value, decay);
    if (settings.momentum != 0) {
      at::Tensor buffer = parameter.moment1;
      if (state.step == 0) {
        buffer.copy_(direction);
      } else {
        buffer.mul_(momentum).add_(direction, 1);
      }
      direction = buffer;
    }
    value.add_(direction, -learning_rate);
  }
}

}  // namespace

void optimizer_step(const OptimizerSettings& settings, TrainState& state, double learning_rate) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  if (state.parameters.empty()) {
    // nothing to update
  } else if (settings.name == "adamw") {
    step_adamw(settings, state, learning_rate, settings.weight_decay);
    if (settings.decay_of(1) != settings.weight_decay) step_adamw(settings, state, learning_rate, settings.decay_of(1));
  } else {
    step_sgd(settings, state, learning_rate);
  }
  round_masters(state);
  ++state.step;
}

}  // namespace plumbline
