// SPDX-License-Identifier: BSD-3-Clause
#include "model/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>

namespace plumbline {
namespace {

/// [batch, sequence, heads * head_dim] -> [batch, heads, sequence, head_dim], a view.
at::Tensor split_heads(const at::Tensor& joined, std::int64_t head_dim) {
  return joined.view({joined.size(0), joined.size(1), -1, head_dim}).transpose(1, 2);
}

}  // namespace

at::Tensor attention(const at::Tensor& hidden, const AttentionWeights& weights, const LlamaConfig& config,
                     const RopeTables& tables) {
  const at::Tensor query = apply_rope(split_heads(linear(hidden, weights.q_proj), config.head_dim), tables);
  const at::Tensor key = apply_rope(split_heads(linear(hidden, weights.k_proj), config.head_dim), tables);
  const at::Tensor value = split_heads(linear(hidden, weights.v_proj), config.head_dim);

  const double scale = std::pow(static_cast<double>(config.head_dim), -0.5);
  const bool causal = hidden.size(1) > 1;  // a single token needs no mask; transformers makes the same call
  const at::Tensor mixed =
      at::scaled_dot_product_attention(query, key, value, /*attn_mask=*/std::nullopt, /*dropout_p=*/0.0, causal, scale,
                                       /*enable_gqa=*/config.heads != config.kv_heads);
  return linear(mixed.transpose(1, 2).reshape({hidden.size(0), hidden.size(1), config.attention_width()}),
                weights.o_proj);
}

}  // namespace plumbline
