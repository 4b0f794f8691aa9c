// SPDX-License-Identifier: BSD-3-Clause
#include "model/decoder_layer.hpp"

#include <ATen/ops/add.h>

#include "model/rms_norm.hpp"

namespace plumbline {

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
