// SPDX-License-Identifier: BSD-3-Clause
#include "model/config_keys.hpp"

#include <algorithm>
#include <set>

#include "support/text.hpp"

namespace plumbline {
namespace {

/// Keys read by load_config or refuse_unsupported, besides the neutral ones.
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

struct Neutral {
  std::string only;  ///< the value as text, for the message
  Json value;        ///< null: the key must be absent or null
  std::vector<std::string> keys;
};

const std::vector<Neutral>& neutral_keys() {
  static const std::vector<Neutral> all = {
      {"\"silu\"", "silu", {"hidden_act"}},
      {"1",
       1,
       {"pretraining_tp", "partial_rotary_factor", "rotary_pct", "num_local_experts", "num_experts",
        "embedding_multiplier", "residual_multiplier", "logits_scaling", "logit_scale", "scale_emb", "rope_ratio"}},
      {"false",
       false,
       {"attention_bias", "mlp_bias", "use_sliding_window", "rope_interleaved", "use_qk_norm", "qk_norm", "qkv_bias",
        "use_qkv_bias", "bias", "use_bias", "attention_out_bias", "use_post_norm", "use_parallel_residual",
        "parallel_attn", "alibi", "add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention"}},
      {"null",
       nullptr,
       {"quantization_config", "sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
        "attention_chunk_size", "auto_map", "clip_qkv", "no_rope_layers", "no_rope_layer_interval", "n_routed_experts",
        "num_experts_per_tok"}}};
  return all;
}

bool is_ignored(const std::string& key) {
  static const std::set<std::string> ignored = {
      // tokens
      "bos_token_id", "eos_token_id", "sep_token_id", "unk_token_id", "decoder_start_token_id", "forced_bos_token_id",
      "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
      // text generation
      "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty",
      "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
      "encoder_no_repeat_ngram_size", "num_return_sequences", "output_scores", "return_dict_in_generate",
      "remove_invalid_values", "exponential_decay_length_penalty", "use_cache", "cache_implementation",
      "generation_config",
      // outputs of a call, and heads on top of the model
      "output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "torchscript", "problem_type",
      "num_labels", "id2label", "label2id", "finetuning_task", "task_specific_params", "tokenizer_class", "prefix",
      // bookkeeping
      "name_or_path", "transformers_version", "transformers.js_config", "transformers_weights", "unsloth_version",
      "unsloth_fixed", "max_window_layers", "chunk_size_feed_forward", "is_decoder", "cross_attention_hidden_size",
      "tie_encoder_decoder", "pruned_heads", "tf_legacy_loss", "use_bfloat16", "attn_implementation",
      "gradient_checkpointing"};
  return key.starts_with('_') || ignored.contains(key);
}

}  // namespace

bool is_dropout(const std::string& key) {
  return key.find("dropout") != std::string::npos || key.find("pdrop") != std::string::npos;
}

void refuse_unless_neutral(const ConfigReader& config, const std::vector<std::string>& except) {
  for (const Neutral& neutral : neutral_keys()) {
    for (const std::string& key : neutral.keys) {
      if (std::ranges::find(except, key) != except.end()) continue;
      if (config.has(key) && config.value(key) != neutral.value) throw config.unsupported(key, neutral.only);
    }
  }
}

void refuse_unknown_keys(const ConfigReader& config) {
  std::vector<std::string> known = read_keys;
  for (const Neutral& neutral : neutral_keys()) known.insert(known.end(), neutral.keys.begin(), neutral.keys.end());
  for (const auto& [key, value] : config.json().items()) {
    if (value.is_null() || is_dropout(key) || is_ignored(key) || std::ranges::find(known, key) != known.end()) continue;
    throw config.wrong(key, "is not known, and neither is its effect; remove it if it changes nothing in a Llama" +
                                did_you_mean(key, known));
  }
}

std::vector<std::string> ignored_keys(const ConfigReader& config) {
  std::vector<std::string> found;
  for (const auto& [key, value] : config.json().items()) {
    if (!value.is_null() && is_ignored(key)) found.push_back(key);
  }
  return found;
}

}  // namespace plumbline
