// SPDX-License-Identifier: BSD-3-Clause
// The sizes and options of a Llama, read from a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// RoPE scaling of Llama 3.1 (rope_type "llama3").
struct Llama3RopeScaling {
  double factor = 0;
  double low_freq_factor = 0;
  double high_freq_factor = 0;
  double original_max_position_embeddings = 0;  ///< tokens
};

struct LlamaConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 0;
  double rope_theta = 0;
  std::optional<Llama3RopeScaling> rope_scaling;
  double initializer_range = 0.02;
  /// As in transformers, the embedding use gives this token's row no gradient (a tied head still does).
  std::optional<std::int64_t> pad_token_id;
  bool tied = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  /// The dtype of the saved weights: `dtype`, or `torch_dtype` in older files; empty if the file has neither. It has no
  /// effect: the run file sets the training dtype.
  std::string saved_dtype;
  std::vector<std::string> ignored_keys;  ///< keys of the file that do not affect training
  Json source;                            ///< the file's content, for the manifest

  std::int64_t attention_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
};

/// Keys with a default in Hugging Face's Llama get the same default; sizes have none. Throws InputError naming file and
/// key if a key is missing, of the wrong type, inconsistent, or has an unsupported value (the message names the value).
LlamaConfig load_config(const std::filesystem::path& path);

}  // namespace plumbline
