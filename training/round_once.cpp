// SPDX-License-Identifier: BSD-3-Clause
#include "training/round_once.hpp"

#include <ATen/ops/where.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace plumbline {

c10::BFloat16 round_to_bfloat16(double value) {
  auto odd = static_cast<float>(value);
  const bool even = (std::bit_cast<std::uint32_t>(odd) & 1U) == 0;
  if (std::isfinite(odd) && even && static_cast<double>(odd) != value) {
    const float infinity = std::numeric_limits<float>::infinity();
    odd = std::nextafter(odd, static_cast<double>(odd) < value ? infinity : -infinity);
  }
  return c10::BFloat16(odd);
}

at::Tensor round_to_bfloat16(const at::Tensor& values) {
  const at::Tensor nearest = values.to(at::kFloat);
  const at::Tensor back = nearest.to(at::kDouble);
  const at::Tensor bits = nearest.view(at::kInt);
  const at::Tensor moves = back.ne(values).logical_and(bits.bitwise_and(1).eq(0)).logical_and(nearest.isfinite());
  // Bits increase away from zero: moving towards the value increments them if its magnitude is larger.
  const at::Tensor towards = at::where(back.abs().lt(values.abs()), 1, -1).to(at::kInt);
  return bits.add(towards.mul(moves)).view(at::kFloat).to(at::kBFloat16);
}

}  // namespace plumbline
