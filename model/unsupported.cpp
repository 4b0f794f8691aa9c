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
    throw config.wrong("model_type", "is not supported (only " + model_types() +
                                         "): these trainers compute a Llama's forward pass. A trainer of your own is "
                                         "recorded with plumbline.torch (docs/judge-your-trainer.md)");
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
