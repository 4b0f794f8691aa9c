// SPDX-License-Identifier: BSD-3-Clause
#include "model/parameter_shapes.hpp"

#include <string>

#include "model/tied_names.hpp"

namespace plumbline {
namespace {

struct LinearShape {
  const char* name;
  std::int64_t out;
  std::int64_t in;
  bool bias;
};

void add_layer(std::vector<ParameterShape>& shapes, const LlamaConfig& config, std::int64_t layer) {
  const std::string unit = "layers." + std::to_string(layer);
  const std::string prefix = "model." + unit + ".";
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  const LinearShape linears[] = {
      {"self_attn.q_proj", config.attention_width(), hidden, config.attention_bias},
      {"self_attn.k_proj", config.kv_width(), hidden, config.attention_bias},
      {"self_attn.v_proj", config.kv_width(), hidden, config.attention_bias},
      {"self_attn.o_proj", hidden, config.attention_width(), config.attention_bias},
      {"mlp.gate_proj", inner, hidden, config.mlp_bias},
      {"mlp.up_proj", inner, hidden, config.mlp_bias},
      {"mlp.down_proj", hidden, inner, config.mlp_bias},
  };
  for (const LinearShape& linear : linears) {
    shapes.push_back({prefix + linear.name + ".weight", unit, {linear.out, linear.in}});
    if (linear.bias) {
      shapes.push_back({prefix + linear.name + ".bias", unit, {linear.out}});
    }
  }
  shapes.push_back({prefix + "input_layernorm.weight", unit, {hidden}});
  shapes.push_back({prefix + "post_attention_layernorm.weight", unit, {hidden}});
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const LlamaConfig& config) {
  std::vector<ParameterShape> shapes;
  shapes.push_back({embedding_weight, "embed_tokens", {config.vocab_size, config.hidden_size}});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    add_layer(shapes, config, layer);
  }
  shapes.push_back({"model.norm.weight", "norm", {config.hidden_size}});
  shapes.push_back({head_weight, "lm_head", {config.vocab_size, config.hidden_size}});
  return shapes;
}

}  // namespace plumbline
