// SPDX-License-Identifier: BSD-3-Clause
#include "model/mlp.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>

namespace plumbline {

at::Tensor mlp(const at::Tensor& hidden, const MlpWeights& weights) {
  const at::Tensor gate = at::silu(linear(hidden, weights.gate_proj));
  return linear(at::mul(gate, linear(hidden, weights.up_proj)), weights.down_proj);
}

}  // namespace plumbline
