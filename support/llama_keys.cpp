// SPDX-License-Identifier: BSD-3-Clause
#include "support/llama_keys.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace plumbline {
namespace {

double number_in(const Json& config, const std::string& key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_number() ? found->get<double>() : 0.0;
}

double head_size(const Json& config) {
  if (const auto own = config.find("head_dim"); own != config.end() && !own->is_null())
    return number_in(config, "head_dim");
  const double heads = number_in(config, "num_attention_heads");
  return heads > 0 ? number_in(config, "hidden_size") / heads : 0.0;
}

}  // namespace

const std::vector<NeutralKeys>& neutral_keys() {
  static const std::vector<NeutralKeys> all = {
      {"silu", {"hidden_act"}},
      {1,
       {"pretraining_tp", "partial_rotary_factor", "rotary_pct", "num_local_experts", "num_experts",
        "embedding_multiplier", "residual_multiplier", "logits_scaling", "logit_scale", "scale_emb", "rope_ratio"}},
      {false,
       {"attention_bias", "mlp_bias", "use_sliding_window", "rope_interleaved", "use_qk_norm", "qk_norm", "qkv_bias",
        "use_qkv_bias", "bias", "use_bias", "attention_out_bias", "use_post_norm", "use_parallel_residual",
        "parallel_attn", "alibi", "add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention"}},
      {nullptr,
       {"quantization_config", "sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
        "attention_chunk_size", "auto_map", "clip_qkv", "no_rope_layers", "no_rope_layer_interval", "n_routed_experts",
        "num_experts_per_tok"}}};
  return all;
}

bool changes_nothing(const std::string& key) {
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

bool is_dropout(const std::string& key) {
  return key.find("dropout") != std::string::npos || key.find("pdrop") != std::string::npos;
}

std::optional<double> neutral_scale(const std::string& key, const Json& config) {
  const double size = key == "attention_multiplier"    ? 1 / std::sqrt(head_size(config))
                      : key == "query_pre_attn_scalar" ? head_size(config)
                      : key == "scale_depth"           ? std::sqrt(number_in(config, "num_hidden_layers"))
                      : key == "dim_model_base"        ? number_in(config, "hidden_size")
                                                       : 0.0;
  return size > 0 && std::isfinite(size) ? std::optional(size) : std::nullopt;
}

Json neutral_value(const std::string& key, const Json& config) {
  if (is_dropout(key)) return 0;
  if (key == "layer_types") return "all full_attention";
  if (key == "initializer_range") return 0.02;
  if (const auto scale = neutral_scale(key, config)) return *scale;
  for (const NeutralKeys& neutral : neutral_keys())
    if (std::ranges::find(neutral.keys, key) != neutral.keys.end()) return neutral.value;
  return nullptr;
}

bool is_neutral(const std::string& key, const Json& value, const Json& config) {
  if (value.is_null() || changes_nothing(key)) return true;
  if (key == "layer_types")
    return value.is_array() && std::ranges::all_of(value, [](const Json& type) { return type == "full_attention"; });
  if (const auto scale = neutral_scale(key, config))
    return value.is_number() && std::abs(value.get<double>() - *scale) <= 1e-15 * *scale;
  return value == neutral_value(key, config);
}

}  // namespace plumbline
