// SPDX-License-Identifier: BSD-3-Clause
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

/// hidden [batch, sequence, hidden] -> the same shape. What it keeps for the backward pass: saved_bytes.
at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables);

}  // namespace plumbline
