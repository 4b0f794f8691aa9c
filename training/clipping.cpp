// SPDX-License-Identifier: BSD-3-Clause
#include "training/clipping.hpp"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "training/memory_meter.hpp"
#include "training/round_once.hpp"

namespace plumbline {

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

}  // namespace plumbline
