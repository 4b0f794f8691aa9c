#include "model/rms_norm.hpp"

#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>

namespace plumbline {

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  // pow(2), not input * input: the gradients of the two differ in their last bit.
  const at::Tensor inverse_rms = at::rsqrt(at::mean(at::pow(input, 2), {-1}, /*keepdim=*/true).add(eps));
  return at::mul(weight, at::mul(input, inverse_rms));
}

}  // namespace plumbline
