// SPDX-License-Identifier: BSD-3-Clause
#include "model/decoder_layer.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>

#include <cmath>

#include "model/rms_norm.hpp"

namespace plumbline {
namespace {

/// [batch, sequence, heads * head_dim] -> [batch, heads, sequence, head_dim], a view.
at::Tensor split_heads(const at::Tensor& joined, std::int64_t head_dim) {
  return joined.view({joined.size(0), joined.size(1), -1, head_dim}).transpose(1, 2);
}

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

at::Tensor mlp(const at::Tensor& hidden, const MlpWeights& weights) {
  const at::Tensor gate = at::silu(linear(hidden, weights.gate_proj));
  return linear(at::mul(gate, linear(hidden, weights.up_proj)), weights.down_proj);
}

}  // namespace

at::Tensor attention_half(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                          const RopeTables& tables) {
  return at::add(
      hidden, attention(rms_norm(hidden, layer.input_layernorm, config.rms_norm_eps), layer.self_attn, config, tables));
}

at::Tensor mlp_half(const at::Tensor& attended, const DecoderLayer& layer, const LlamaConfig& config) {
  return at::add(attended, mlp(rms_norm(attended, layer.post_attention_layernorm, config.rms_norm_eps), layer.mlp));
}

at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables) {
  return mlp_half(attention_half(hidden, layer, config, tables), layer, config);
}

}  // namespace plumbline
