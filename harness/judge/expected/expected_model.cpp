// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/expected_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "support/error.hpp"
#include "support/json_text.hpp"

namespace plumbline::judging {
namespace {

std::int64_t size_of(const Json& config, const char* key, std::optional<std::int64_t> fallback = std::nullopt) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    if (fallback) return *fallback;
    throw InputError(fmt::format("manifest.json, model: key `{}` is missing; a Hugging Face config.json has it", key));
  }
  // With larger sizes a shape's number of elements could overflow.
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  const bool fits = found->is_number_integer() && *found > 0 && *found <= largest;
  if (!fits) {
    throw InputError(
        fmt::format("manifest.json, model: `{}` is {}, not an integer from 1 to {}", key, json_text(*found), largest));
  }
  return found->get<std::int64_t>();
}

bool flag_of(const Json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return false;  // transformers' default for all three flags of a Llama
  if (!found->is_boolean()) {
    throw InputError(fmt::format("manifest.json, model: `{}` is {}, not true or false", key, json_text(*found)));
  }
  return found->get<bool>();
}

void add_linear(ExpectedModel& model, const std::string& name, const std::string& unit, std::int64_t out,
                std::int64_t in, bool bias) {
  model.parameters.push_back({name + ".weight", unit, {out, in}});
  if (bias) model.parameters.push_back({name + ".bias", unit, {out}});
}

void add_layer(ExpectedModel& model, std::int64_t layer, bool halves) {
  const std::string name = "layers." + std::to_string(layer);
  const std::string prefix = fmt::format("model.{}.", name);
  const std::string attention = halves ? name + ".attention" : name, mlp = halves ? name + ".mlp" : name;
  const std::int64_t query = model.heads * model.head_dim, key = model.kv_heads * model.head_dim;
  model.units.push_back(attention);
  if (halves) model.units.push_back(mlp);
  add_linear(model, prefix + "self_attn.q_proj", attention, query, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.k_proj", attention, key, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.v_proj", attention, key, model.hidden, model.attention_bias);
  add_linear(model, prefix + "self_attn.o_proj", attention, model.hidden, query, model.attention_bias);
  add_linear(model, prefix + "mlp.gate_proj", mlp, model.intermediate, model.hidden, model.mlp_bias);
  add_linear(model, prefix + "mlp.up_proj", mlp, model.intermediate, model.hidden, model.mlp_bias);
  add_linear(model, prefix + "mlp.down_proj", mlp, model.hidden, model.intermediate, model.mlp_bias);
  model.parameters.push_back({prefix + "input_layernorm.weight", attention, {model.hidden}});
  model.parameters.push_back({prefix + "post_attention_layernorm.weight", mlp, {model.hidden}});
}

}  // namespace

bool cuts_layers(const Manifest& manifest) {
  return std::ranges::any_of(manifest.stages, [](const StageEntry& stage) {
    return std::ranges::any_of(stage.units, [](const std::string& unit) {
      return unit.starts_with("layers.") && (unit.ends_with(".attention") || unit.ends_with(".mlp"));
    });
  });
}

ExpectedModel expected_model(const Json& config, bool halves) {
  if (!config.is_object()) throw InputError("manifest.json: `model` must be an object of config.json keys");
  ExpectedModel model;
  model.vocabulary = size_of(config, "vocab_size");
  model.hidden = size_of(config, "hidden_size");
  model.intermediate = size_of(config, "intermediate_size");
  model.layers = size_of(config, "num_hidden_layers");
  model.heads = size_of(config, "num_attention_heads");
  model.kv_heads = size_of(config, "num_key_value_heads", model.heads);
  model.head_dim = size_of(config, "head_dim", std::max<std::int64_t>(1, model.hidden / model.heads));
  model.tied = flag_of(config, "tie_word_embeddings");
  model.attention_bias = flag_of(config, "attention_bias");
  model.mlp_bias = flag_of(config, "mlp_bias");

  model.pad_token = config.contains("pad_token_id") && !config.at("pad_token_id").is_null();

  model.units.push_back("embed_tokens");
  model.parameters.push_back({"model.embed_tokens.weight", "embed_tokens", {model.vocabulary, model.hidden}});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) add_layer(model, layer, halves);
  model.units.push_back("norm");
  model.parameters.push_back({"model.norm.weight", "norm", {model.hidden}});
  model.units.push_back("lm_head");
  model.parameters.push_back({"lm_head.weight", "lm_head", {model.vocabulary, model.hidden}});
  return model;
}

std::optional<std::int64_t> ExpectedModel::unit_position(const std::string& unit) const {
  const auto found = std::ranges::find(units, unit);
  if (found == units.end()) return std::nullopt;
  return found - units.begin();
}

std::optional<std::int64_t> ExpectedModel::parameter_position(const std::string& name) const {
  const auto found = std::ranges::find_if(parameters, [&](const auto& p) { return p.name == name; });
  if (found == parameters.end()) return std::nullopt;
  return found - parameters.begin();
}

bool is_frozen(const Manifest& manifest, const std::string& parameter) {
  return std::ranges::find(manifest.frozen, parameter) != manifest.frozen.end();
}

}  // namespace plumbline::judging
