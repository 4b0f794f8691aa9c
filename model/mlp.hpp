// SPDX-License-Identifier: BSD-3-Clause
// The gated feed-forward block (SwiGLU; Shazeer, arXiv:2002.05202).
#pragma once

#include <ATen/core/Tensor.h>

#include "model/linear.hpp"

namespace plumbline {

struct MlpWeights {
  LinearWeights gate_proj;  ///< [intermediate, hidden]
  LinearWeights up_proj;    ///< [intermediate, hidden]
  LinearWeights down_proj;  ///< [hidden, intermediate]
};

/// down(silu(gate(hidden)) * up(hidden)): [batch, sequence, hidden] -> the same shape.
at::Tensor mlp(const at::Tensor& hidden, const MlpWeights& weights);

}  // namespace plumbline
