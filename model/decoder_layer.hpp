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

/// hidden [batch, sequence, hidden] -> the same shape. saved_bytes gives what it keeps for the backward pass.
at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables);

}  // namespace plumbline
