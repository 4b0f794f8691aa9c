// SPDX-License-Identifier: BSD-3-Clause
// One transformer layer: attention with grouped key/value heads (Ainslie et al., arXiv:2305.13245) and a gated MLP
// (SwiGLU; Shazeer, arXiv:2002.05202), each after a norm and with a residual connection.
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

struct MlpWeights {
  LinearWeights gate_proj;  ///< [intermediate, hidden]
  LinearWeights up_proj;    ///< [intermediate, hidden]
  LinearWeights down_proj;  ///< [hidden, intermediate]
};

struct DecoderLayer {
  AttentionWeights self_attn;
  MlpWeights mlp;
  at::Tensor input_layernorm;           ///< [hidden]
  at::Tensor post_attention_layernorm;  ///< [hidden]
};

/// The first half: norm, attention, residual connection. hidden [batch, sequence, hidden] -> the same shape; `tables`
/// of exactly `sequence` rows.
at::Tensor attention_half(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                          const RopeTables& tables);
/// The second half: norm, down(silu(gate(x)) * up(x)), residual connection.
at::Tensor mlp_half(const at::Tensor& attended, const DecoderLayer& layer, const LlamaConfig& config);

/// Both halves. saved_bytes gives what each keeps for the backward pass.
at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables);

}  // namespace plumbline
