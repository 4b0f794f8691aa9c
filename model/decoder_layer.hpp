// SPDX-License-Identifier: BSD-3-Clause
// One transformer layer: attention and MLP, each after a norm and with a residual connection.
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

/// Its first half: the norm, attention, and the residual connection over both. hidden [batch, sequence, hidden] -> the
/// same shape.
at::Tensor attention_half(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                          const RopeTables& tables);
/// Its second half: the norm, the MLP, and the residual connection over both.
at::Tensor mlp_half(const at::Tensor& attended, const DecoderLayer& layer, const LlamaConfig& config);

/// One half after the other. saved_bytes gives what each keeps for the backward pass.
at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables);

}  // namespace plumbline
