// SPDX-License-Identifier: BSD-3-Clause
#include "model/rms_norm.hpp"

#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>

namespace plumbline {
namespace {

at::Tensor normalize(const at::Tensor& input, double eps) {
  // pow(2), not input * input: their gradients differ in the last bit.
  const at::Tensor inverse_rms = at::rsqrt(at::mean(at::pow(input, 2), {-1}, /*keepdim=*/true).add(eps));
  return at::mul(input, inverse_rms);
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  if (input.scalar_type() == at::kBFloat16) {
    return at::mul(weight, normalize(input.to(at::kFloat), eps).to(at::kBFloat16));
  }
  return at::mul(weight, normalize(input, eps));
}

}  // namespace plumbline
