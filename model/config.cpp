// SPDX-License-Identifier: BSD-3-Clause
#include "model/config.hpp"

#include "model/config_keys.hpp"
#include "model/config_reader.hpp"
#include "model/rope_config.hpp"
#include "model/unsupported.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t most_layers = 100000;  // each layer is a named unit; no known model has nearly as many

/// Head size: as given, or hidden / heads, which must divide evenly.
std::int64_t read_head_dim(const ConfigReader& reader, const LlamaConfig& config) {
  if (!reader.has("head_dim") && config.hidden_size % config.heads != 0) {
    throw reader.wrong("num_attention_heads", "does not divide hidden_size = " + std::to_string(config.hidden_size) +
                                                  ": change one, or give head_dim");
  }
  const std::int64_t head_dim = reader.size_or("head_dim", config.hidden_size / config.heads);
  if (head_dim % 2 != 0) {
    const std::string complaint =
        "gives an odd head_dim of " + std::to_string(head_dim) + ": RoPE rotates pairs, it must be even";
    throw reader.wrong(reader.has("head_dim") ? "head_dim" : "num_attention_heads", complaint);
  }
  return head_dim;
}

std::optional<std::int64_t> read_pad_token(const ConfigReader& reader, std::int64_t vocab_size) {
  if (!reader.has("pad_token_id")) {
    return std::nullopt;
  }
  const Json& value = reader.value("pad_token_id");
  if (!value.is_number_integer()) {
    throw reader.wrong("pad_token_id", "must be an integer or null");
  }
  if (value < 0 || value >= vocab_size) {
    throw reader.wrong("pad_token_id",
                       "is not a token below vocab_size = " + std::to_string(vocab_size) + ": use null for none");
  }
  return value.get<std::int64_t>();
}

std::string read_saved_dtype(const ConfigReader& reader) {
  std::string dtype;
  for (const std::string key : {"dtype", "torch_dtype"}) {
    std::string found = reader.text_or(key, "");
    if (found.starts_with("torch.")) {
      found.erase(0, std::string("torch.").size());
    }
    if (found.empty()) {
      continue;
    }
    if (found != "float32" && found != "float64" && found != "bfloat16" && found != "float16") {
      throw reader.unsupported(key, "float32, float64, bfloat16 and float16");
    }
    if (!dtype.empty() && dtype != found) {
      throw reader.wrong(key, "contradicts dtype = \"" + dtype + "\": keep one of the two");
    }
    dtype = found;
  }
  return dtype;
}

}  // namespace

LlamaConfig load_config(const std::filesystem::path& path) {
  LlamaConfig config;
  config.source = read_json(path, most_by_hand);
  if (!config.source.is_object()) {
    throw InputError(path.string() + ": a config.json must hold one object { ... }");
  }
  const ConfigReader reader(path, config.source);
  refuse_unsupported(reader);
  config.ignored_keys = ignored_keys(reader);

  config.vocab_size = reader.size("vocab_size");
  config.hidden_size = reader.size("hidden_size");
  config.intermediate_size = reader.size("intermediate_size");
  config.layers = reader.size("num_hidden_layers");
  if (config.layers > most_layers) {
    throw reader.wrong("num_hidden_layers", "must be at most " + std::to_string(most_layers));
  }
  config.heads = reader.size("num_attention_heads");
  config.kv_heads = reader.size_or("num_key_value_heads", config.heads);
  if (config.heads % config.kv_heads != 0) {
    throw reader.wrong("num_key_value_heads", "does not divide num_attention_heads = " + std::to_string(config.heads));
  }
  config.head_dim = read_head_dim(reader, config);
  config.max_position_embeddings = reader.size_or("max_position_embeddings", 2048);
  config.rms_norm_eps = reader.positive_or("rms_norm_eps", 1e-6);
  config.initializer_range = reader.positive_or("initializer_range", 0.02);
  config.pad_token_id = read_pad_token(reader, config.vocab_size);
  config.tied = reader.boolean_or("tie_word_embeddings", false);
  config.attention_bias = reader.boolean_or("attention_bias", false);
  config.mlp_bias = reader.boolean_or("mlp_bias", false);

  config.saved_dtype = read_saved_dtype(reader);

  const RopeConfig rope = read_rope(reader, config.max_position_embeddings);
  config.rope_theta = rope.theta;
  config.rope_scaling = rope.scaling;
  return config;
}

}  // namespace plumbline
