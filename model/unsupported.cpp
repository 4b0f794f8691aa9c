// SPDX-License-Identifier: BSD-3-Clause
#include "model/unsupported.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/config_keys.hpp"
#include "support/llama_keys.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// A model family whose forward pass equals Llama's if its own keys are neutral (docs/getting-started.md).
struct Family {
  std::string model_type;
  std::string architecture;
  /// Keys that must be present, even if null, because the family's default in transformers differs from Llama's.
  std::vector<std::string> given = {};
  /// Neutral keys (config_keys.cpp) that the family may set to other values.
  std::vector<std::string> sets = {};
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"llama", "LlamaForCausalLM", {}, {"attention_bias", "mlp_bias"}},
      {"mistral", "MistralForCausalLM", {"sliding_window", "num_key_value_heads", "max_position_embeddings"}},
      {"granite", "GraniteForCausalLM", {"attention_multiplier"}, {"attention_bias", "mlp_bias"}},
      {"seed_oss",
       "SeedOssForCausalLM",
       {"attention_bias", "attention_dropout", "residual_dropout", "num_key_value_heads", "head_dim", "pad_token_id",
        "max_position_embeddings"},
       {"mlp_bias"}}};
  return all;
}

/// Families whose forward pass always differs from Llama's, with the reason.
std::string difference_of(const std::string& model_type) {
  static const std::map<std::string, std::string> known = {
      {"arcee", "its MLP has no gate and squares a ReLU"},
      {"cohere", "attention and MLP of its layers run in parallel"},
      {"deepseek_v2", "its attention uses latent vectors, and its layers have experts"},
      {"deepseek_v3", "its attention uses latent vectors, and its layers have experts"},
      {"ernie4_5", "it rotates neighboring pairs"},
      {"exaone4", "it normalizes queries and keys"},
      {"falcon", "it has layer norms, and an MLP without a gate"},
      {"gemma", "its norms add 1 to their weights, and its embeddings are scaled"},
      {"gemma2", "its norms add 1 to their weights, and its logits are capped"},
      {"gemma3", "its norms add 1 to their weights, and it normalizes queries and keys"},
      {"glm", "it rotates a part of each head"},
      {"gpt2", "it has layer norms, learnt positions and an MLP without a gate"},
      {"gpt_neox", "it has layer norms, and an MLP without a gate"},
      {"helium", "it rotates neighboring pairs"},
      {"internlm2", "its queries, keys and values are one matrix"},
      {"llama4", "its layers have experts, and some do not rotate"},
      {"minicpm", "it scales embeddings, layers and logits"},
      {"ministral", "its layers attend within sliding windows"},
      {"mixtral", "its layers have experts"},
      {"olmo", "its norms have no weights"},
      {"olmo2", "its norms follow attention and MLP"},
      {"phi", "it has layer norms, and an MLP without a gate"},
      {"phi3", "its queries, keys and values are one matrix"},
      {"qwen2", "queries, keys and values have biases, and their output has none"},
      {"qwen2_moe", "its layers have experts"},
      {"qwen3", "it normalizes queries and keys"},
      {"qwen3_moe", "its layers have experts"},
      {"smollm3", "some of its layers do not rotate"},
      {"stablelm", "it has layer norms"},
      {"starcoder2", "it has layer norms, and an MLP without a gate"}};
  const auto found = known.find(model_type);
  return found == known.end() ? "" : "; " + found->second;
}

std::string model_types() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back("\"" + family.model_type + "\"");
  return join(names, ", ");
}

const Family& family_of(const ConfigReader& config) {
  if (!config.has("model_type")) throw config.missing("model_type", "give one of " + model_types());
  const std::string model_type = config.text_or("model_type", "");
  const auto found = std::ranges::find(families(), model_type, &Family::model_type);
  if (found == families().end()) {
    throw config.wrong("model_type", "is not supported (only " + model_types() + ")" + difference_of(model_type));
  }
  return *found;
}

void refuse_other_architectures(const ConfigReader& config, const Family& family) {
  if (config.has("architectures")) {
    const Json& names = config.value("architectures");
    if (!names.is_array()) throw config.wrong("architectures", "must be a list");
    for (const Json& name : names) {
      if (name != family.architecture) throw config.unsupported("architectures", "\"" + family.architecture + "\"");
    }
  }
  for (const std::string& key : family.given) {
    if (config.json().contains(key)) continue;
    throw config.missing(key, "transformers gives it another default in a " + family.model_type +
                                  " than in a llama, so give it (null for none)");
  }
}

/// attention_dropout, hidden_dropout, resid_pdrop, ...: dropout is random, so there would be no bits to compare.
void refuse_dropout(const ConfigReader& config) {
  for (const auto& [key, value] : config.json().items()) {
    if (!is_dropout(key) || value.is_null()) continue;
    if (!value.is_number()) throw config.wrong(key, "must be a number");
    if (value != 0.0) throw config.unsupported(key, "0");
  }
}

/// A scale whose neutral value depends on the sizes; invalid sizes are reported where they are read.
void refuse_scales(const ConfigReader& config) {
  for (const char* key : {"attention_multiplier", "query_pre_attn_scalar", "scale_depth", "dim_model_base"}) {
    const auto neutral = neutral_scale(key, config.json());
    if (neutral && config.has(key) && !is_neutral(key, config.value(key), config.json()))
      throw config.unsupported(key, Json(*neutral).dump());
  }
}

void refuse_other_layers(const ConfigReader& config) {
  if (!config.has("layer_types")) return;
  const Json& types = config.value("layer_types");
  if (!is_neutral("layer_types", types, config.json()))
    throw config.unsupported("layer_types", "\"full_attention\" for each layer, or null");
  if (config.has("num_hidden_layers") && config.value("num_hidden_layers") != types.size()) {
    throw config.wrong("layer_types", "names " + std::to_string(types.size()) + " layers; num_hidden_layers differs");
  }
}

}  // namespace

void refuse_unsupported(const ConfigReader& config) {
  const Family& family = family_of(config);
  refuse_other_architectures(config, family);
  refuse_dropout(config);
  refuse_unless_neutral(config, family.sets);
  refuse_scales(config);
  refuse_other_layers(config);
  refuse_unknown_keys(config);
}

}  // namespace plumbline
