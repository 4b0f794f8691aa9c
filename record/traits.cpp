// SPDX-License-Identifier: BSD-3-Clause
#include "record/traits.hpp"

#include <algorithm>
#include <map>

#include "record/record.hpp"

namespace plumbline {
namespace {

struct Off {
  Json value;
  Json unsaid;  ///< transformers' default of an absent key
};

/// Other families are equivalent to a Llama if their distinguishing features are disabled (docs/getting-started.md).
bool is_equivalent_family(const Json& model_type, const Json& config) {
  static const std::map<std::string, std::map<std::string, Off>> off = {
      {"llama", {}},
      {"mistral", {{"sliding_window", {nullptr, 4096}}}},
      {"granite",
       {{"embedding_multiplier", {1.0, 1.0}}, {"residual_multiplier", {1.0, 1.0}}, {"logits_scaling", {1.0, 1.0}}}},
      {"seed_oss", {{"attention_bias", {false, true}}, {"residual_dropout", {0.0, 0.1}}}}};
  const auto family = model_type.is_string() ? off.find(model_type.get<std::string>()) : off.end();
  if (family == off.end()) return false;
  return std::ranges::all_of(family->second, [&](const auto& feature) {
    const auto& [key, disabled] = feature;
    return (config.contains(key) ? config.at(key) : disabled.unsaid) == disabled.value;
  });
}

}  // namespace

RecordTraits traits_of_role(const std::string& role) {
  if (role != "external") return {};
  return {
      .own = false, .may_lack = true, .own_formulas = false, .own_bytes = false, .own_actions = false, .llama = false};
}

bool is_llama(const Manifest& manifest) {
  if (first_unit(manifest) != "embed_tokens") return false;
  const Json& config = manifest.json.at("model");
  if (const auto type = config.find("model_type"); type != config.end() && !type->is_null())
    return is_equivalent_family(*type, config);
  const auto keys = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"};
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return config.contains(key); });
}

}  // namespace plumbline
