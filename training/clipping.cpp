#include "training/clipping.hpp"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mul.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

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

double clip_coefficient(double norm, std::optional<double> limit) {
  if (!limit) {
    return 1.0;
  }
  if (std::isnan(norm)) {
    return norm;  // std::min would hide it behind 1
  }
  return std::min(1.0, *limit / norm);
}

void scale_gradients(const TrainState& state, double coefficient) {
  if (coefficient == 1.0) {
    return;
  }
  for (const TrainedParameter& parameter : state.parameters) {
    const at::Tensor gradient = parameter.gradient();
    if (!gradient.is_contiguous()) {
      throw std::logic_error("the gradient of " + parameter.name + " is not contiguous");
    }
    if (!gradient.is_cpu()) {
      const at::NoGradGuard no_grad;
      const MemoryScope scope(MemoryOwner::other);
      const at::Tensor exact = at::mul(gradient.to(at::kDouble), at::Scalar(coefficient));
      gradient.copy_(gradient.scalar_type() == at::kBFloat16 ? round_to_bfloat16(exact) : exact);
      continue;
    }
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gradient.scalar_type(), "scale_gradients",
                                   [&] { scale<scalar_t>(gradient, coefficient); });
  }
}

}  // namespace plumbline
