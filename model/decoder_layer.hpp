// One transformer layer: attention and MLP, each behind a norm and beside a residual connection.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/attention.hpp"
#include "model/config.hpp"
#include "model/mlp.hpp"
#include "model/rope.hpp"

namespace plumbline {

struct DecoderLayer {
  AttentionWeights self_attn;
  MlpWeights mlp;
  at::Tensor input_layernorm;           ///< [hidden]
  at::Tensor post_attention_layernorm;  ///< [hidden]
};

/// hidden [batch, sequence, hidden] -> the same shape. In float32 with N = batch * sequence tokens, H hidden, A = heads
/// * head_dim, K = kv_heads * head_dim, I intermediate and h heads it keeps 4N(6H + 2A + 2K + 4I + h + 2) bytes for the
/// backward, its output not among them.
at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables);

}  // namespace plumbline
