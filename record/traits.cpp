// SPDX-License-Identifier: BSD-3-Clause
#include "record/traits.hpp"

#include <algorithm>
#include <map>

#include "record/record.hpp"

namespace plumbline {
namespace {

/// Other families are equivalent to a Llama if their distinguishing features are disabled (docs/getting-started.md).
bool is_equivalent_family(const Json& model_type, const Json& config) {
  static const std::map<std::string, Json> off = {
      {"llama", Json::object()},
      {"mistral", {{"sliding_window", nullptr}}},
      {"granite", {{"embedding_multiplier", 1.0}, {"residual_multiplier", 1.0}, {"logits_scaling", 1.0}}},
      {"seed_oss", {{"attention_bias", false}, {"residual_dropout", 0.0}}}};
  const auto family = model_type.is_string() ? off.find(model_type.get<std::string>()) : off.end();
  if (family == off.end()) return false;
  for (const auto& [key, value] : family->second.items()) {
    if (!config.contains(key) || config.at(key) != value) return false;
  }
  return true;
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
