// SPDX-License-Identifier: BSD-3-Clause
// Causal self-attention with grouped key/value heads (Ainslie et al., arXiv:2305.13245).
#pragma once

#include <ATen/core/Tensor.h>

#include "model/config.hpp"
#include "model/linear.hpp"
#include "model/rope.hpp"

namespace plumbline {

struct AttentionWeights {
  LinearWeights q_proj;  ///< [heads * head_dim, hidden]
  LinearWeights k_proj;  ///< [kv_heads * head_dim, hidden]
  LinearWeights v_proj;  ///< [kv_heads * head_dim, hidden]
  LinearWeights o_proj;  ///< [hidden, heads * head_dim]
};

/// hidden [batch, sequence, hidden] -> the same shape; `tables` of exactly `sequence` rows.
at::Tensor attention(const at::Tensor& hidden, const AttentionWeights& weights, const LlamaConfig& config,
                     const RopeTables& tables);

}  // namespace plumbline
