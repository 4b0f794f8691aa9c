// SPDX-License-Identifier: BSD-3-Clause
#include "model/config_keys.hpp"

#include <algorithm>

#include "support/llama_keys.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Keys read by load_config or refuse_unsupported, besides those of support/llama_keys.
const std::vector<std::string> read_keys = {"architectures",     "attention_multiplier",
                                            "dim_model_base",    "dtype",
                                            "head_dim",          "hidden_size",
                                            "initializer_range", "intermediate_size",
                                            "layer_types",       "max_position_embeddings",
                                            "model_type",        "num_attention_heads",
                                            "num_hidden_layers", "num_key_value_heads",
                                            "pad_token_id",      "query_pre_attn_scalar",
                                            "rms_norm_eps",      "rope_parameters",
                                            "rope_scaling",      "rope_theta",
                                            "scale_depth",       "tie_word_embeddings",
                                            "torch_dtype",       "vocab_size"};

}  // namespace

void refuse_unless_neutral(const ConfigReader& config, const std::vector<std::string>& except) {
  for (const NeutralKeys& neutral : neutral_keys()) {
    for (const std::string& key : neutral.keys) {
      if (std::ranges::find(except, key) != except.end()) continue;
      if (config.has(key) && config.value(key) != neutral.value) throw config.unsupported(key, neutral.value.dump());
    }
  }
}

void refuse_unknown_keys(const ConfigReader& config) {
  std::vector<std::string> known = read_keys;
  for (const NeutralKeys& neutral : neutral_keys()) known.insert(known.end(), neutral.keys.begin(), neutral.keys.end());
  for (const auto& [key, value] : config.json().items()) {
    if (value.is_null() || is_dropout(key) || changes_nothing(key) || std::ranges::find(known, key) != known.end())
      continue;
    throw config.wrong(key, "is not known, and neither is its effect; remove it if it changes nothing in a Llama" +
                                did_you_mean(key, known));
  }
}

std::vector<std::string> ignored_keys(const ConfigReader& config) {
  std::vector<std::string> found;
  for (const auto& [key, value] : config.json().items()) {
    if (!value.is_null() && changes_nothing(key)) found.push_back(key);
  }
  return found;
}

}  // namespace plumbline
