// SPDX-License-Identifier: BSD-3-Clause
#include "training/optimizer.hpp"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/add.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "training/memory_meter.hpp"
#include "training/round_once.hpp"

namespace plumbline {

double learning_rate(const TrainSettings& train, std::int64_t step) {
  const double peak = train.optimizer.learning_rate;
  const auto done = static_cast<double>(step), warmup = static_cast<double>(train.warmup_steps);
  const auto steps = static_cast<double>(train.steps);
  if (step < train.warmup_steps) {
    return peak * (train.start_factor + (1.0 - train.start_factor) * done / warmup);
  }
  if (train.curve == "constant") return peak;
  double height = 1;  // between the end of the curve and its peak
  if (train.curve == "wsd") {
    if (step < train.steps - train.decay_steps) return peak;
    height = (steps - done) / static_cast<double>(train.decay_steps);
  } else {
    const double progress = (done - warmup) / (steps - warmup);
    height = train.curve == "linear" ? 1.0 - progress : (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  }
  return peak * (train.final_factor + (1.0 - train.final_factor) * height);
}

namespace {

template <typename Number>
Number rounded(double value) {
  return static_cast<Number>(value);
}

template <>
c10::BFloat16 rounded<c10::BFloat16>(double value) {
  return round_to_bfloat16(value);
}

template <typename Number>
void scale(const at::Tensor& gradient, double coefficient) {
  const std::span numbers(gradient.mutable_data_ptr<Number>(), static_cast<std::size_t>(gradient.numel()));
  for (Number& number : numbers) {
    number = rounded<Number>(static_cast<double>(number) * coefficient);
  }
}

}  // namespace

void scale_in_pieces(const at::Tensor& gradient, double coefficient) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::other);
  const bool rounds = gradient.scalar_type() == at::kBFloat16;
  // Temporaries of less than 16 MiB: 8 bytes per element, and about 50 where LibTorch's own rounding cannot be used.
  const std::int64_t piece = std::int64_t{1} << (rounds ? 18 : 20);
  for (const at::Tensor& part : gradient.view({-1}).split(piece)) {
    const at::Tensor exact = part.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true).mul_(at::Scalar(coefficient));
    part.copy_(rounds ? round_to_bfloat16(exact) : exact);
  }
}

double clip_coefficient(double norm, std::optional<double> limit) {
  if (!limit) {
    return 1.0;
  }
  if (std::isnan(norm)) {
    return norm;  // std::min would return 1 for NaN
  }
  return std::min(1.0, *limit / norm);
}

void scale_gradients(const TrainState& state, double coefficient) {
  if (coefficient == 1.0) {
    return;
  }
  for (const at::Tensor& gradient : gradient_runs(state)) {
    if (!gradient.is_cpu()) {
      scale_in_pieces(gradient, coefficient);
      continue;
    }
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gradient.scalar_type(), "scale_gradients",
                                   [&] { scale<scalar_t>(gradient, coefficient); });
  }
}

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
