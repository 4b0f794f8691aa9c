// SPDX-License-Identifier: BSD-3-Clause
#include "model/decoder_layer.hpp"

#include <ATen/ops/add.h>

#include "model/rms_norm.hpp"

namespace plumbline {

at::Tensor decoder_layer(const at::Tensor& hidden, const DecoderLayer& layer, const LlamaConfig& config,
                         const RopeTables& tables) {
  const at::Tensor attended = at::add(
      hidden, attention(rms_norm(hidden, layer.input_layernorm, config.rms_norm_eps), layer.self_attn, config, tables));
  return at::add(attended, mlp(rms_norm(attended, layer.post_attention_layernorm, config.rms_norm_eps), layer.mlp));
}

}  // namespace plumbline
