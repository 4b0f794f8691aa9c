#include "model/unsupported.hpp"

#include <string>

namespace plumbline {
namespace {

void refuse_other_architectures(const ConfigReader& config) {
  if (!config.has("model_type")) {
    throw config.missing("model_type", "only \"llama\" is supported");
  }
  if (config.text_or("model_type", "") != "llama") {
    throw config.unsupported("model_type", "\"llama\"");
  }
  if (!config.has("architectures")) {
    return;
  }
  const Json& names = config.value("architectures");
  if (!names.is_array()) {
    throw config.wrong("architectures", "must be a list");
  }
  for (const Json& name : names) {
    if (name != "LlamaForCausalLM") {
      throw config.unsupported("architectures", "\"LlamaForCausalLM\"");
    }
  }
}

/// attention_dropout, hidden_dropout, resid_pdrop, ...: a random mask has no bits to compare.
void refuse_dropout(const ConfigReader& config) {
  for (const auto& [key, value] : config.json().items()) {
    const bool dropout = key.find("dropout") != std::string::npos || key.find("pdrop") != std::string::npos;
    if (!dropout || value.is_null()) {
      continue;
    }
    if (!value.is_number()) {
      throw config.wrong(key, "must be a number");
    }
    if (value != 0.0) {
      throw config.unsupported(key, "0");
    }
  }
}

/// Keys that may stand in a Llama's config only with the value that changes nothing.
void refuse_unless_neutral(const ConfigReader& config) {
  if (config.has("hidden_act") && config.value("hidden_act") != "silu") {
    throw config.unsupported("hidden_act", "\"silu\"");
  }
  for (const char* key :
       {"pretraining_tp", "partial_rotary_factor", "rotary_pct", "num_local_experts", "num_experts"}) {
    if (config.has(key) && config.value(key) != 1) {
      throw config.unsupported(key, "1");
    }
  }
  for (const char* key : {"use_sliding_window", "rope_interleaved", "use_qk_norm", "qk_norm", "qkv_bias",
                          "add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention"}) {
    if (config.has(key) && config.value(key) != false) {
      throw config.unsupported(key, "false");
    }
  }
  for (const char* key : {"quantization_config", "sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
                          "attention_chunk_size", "layer_types", "auto_map"}) {
    if (config.has(key)) {
      throw config.unsupported(key, "null");
    }
  }
}

}  // namespace

void refuse_unsupported(const ConfigReader& config) {
  refuse_other_architectures(config);
  refuse_dropout(config);
  refuse_unless_neutral(config);
}

}  // namespace plumbline
