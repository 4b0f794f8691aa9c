// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "harness/judge/comparability.hpp"
#include "harness/judge/expected/model.hpp"
#include "support/json_text.hpp"
#include "support/llama_keys.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

std::string named(const std::string& text) {
  return text.empty() ? "absent" : text;
}

/// Reads both spellings; if a config has both, the newer one's value counts.
Json rope_object(const Json& config) {
  std::map<std::string, Json> merged;
  for (const char* spelling : {"rope_scaling", "rope_parameters"}) {
    const Json given = value_or(config, spelling, nullptr);
    if (!given.is_object()) continue;
    for (const auto& [key, value] : given.items()) merged[key] = value;
  }
  Json rope = Json::object();
  for (const auto& [key, value] : merged) rope.get_ref<Json::object_t&>().emplace_back(key, value);
  return rope;
}

const std::string rope_prefix = "RoPE's ";

/// The RoPE parameters in either spelling, as one object: base and scaling.
Json rope_of(const Json& config) {
  const Json rope = rope_object(config);
  Json plain;
  plain["rope_theta"] = value_or(rope, "rope_theta", value_or(config, "rope_theta", 10000.0));
  plain["rope_type"] = value_or(rope, "rope_type", value_or(rope, "type", "default"));
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    plain[key] = value_or(rope, key, nullptr);
  }
  // Scaled by the context of the model unless another is given.
  const bool by_context = plain["rope_type"] != "default" && plain["rope_type"] != "linear";
  Json& context = plain["original_max_position_embeddings"];
  if (by_context && context.is_null()) context = value_or(config, "max_position_embeddings", 2048);
  return plain;
}

/// Keys of a Llama's config that are compared by name, and names of what the other keys describe.
constexpr std::array settled_keys = {"vocab_size",
                                     "hidden_size",
                                     "intermediate_size",
                                     "num_hidden_layers",
                                     "num_attention_heads",
                                     "head_dim",
                                     "num_key_value_heads",
                                     "attention_bias",
                                     "mlp_bias",
                                     "tie_word_embeddings",
                                     "rms_norm_eps",
                                     "hidden_act",
                                     "rope_theta",
                                     "rope_scaling",
                                     "rope_parameters",
                                     "dtype",
                                     "torch_dtype",
                                     "architectures",
                                     "max_position_embeddings",
                                     "model_type"};

/// Calls `visit` with each key of either and both values, null for an absent one. Linear but for sorting.
template <typename Visit>
void visit_keys(const Json& one, const Json& other, Visit visit) {
  std::map<std::string_view, std::array<const Json*, 2>> values;
  static const Json absent;
  for (const std::size_t side : {0, 1})
    for (const auto& [key, value] : (side == 0 ? one : other).items())
      values.try_emplace(key, std::array{&absent, &absent}).first->second.at(side) = &value;
  for (const auto& [key, both] : values) visit(std::string(key), *both[0], *both[1]);
}

/// Keys that are not compared by name, including those within RoPE.
Json other_keys(const Json& config) {
  Json others = Json::object();
  auto& members = others.get_ref<Json::object_t&>();
  for (const auto& [key, value] : config.items())
    if (std::ranges::find(settled_keys, key) == settled_keys.end()) members.emplace_back(key, value);
  const Json rope = rope_object(config), named = rope_of(config);
  for (const auto& [key, value] : rope.items())
    if (!named.contains(key) && key != "type") members.emplace_back(rope_prefix + key, value);
  return others;
}

/// Compares every other key of a Llama. A value that changes nothing counts as the absent key does; a key that is not
/// known has no such value.
void compare_other_keys(const Json& reference, const Json& candidate, Differences& differences) {
  visit_keys(other_keys(reference), other_keys(candidate),
             [&](const std::string& key, const Json& mine, const Json& theirs) {
               const std::string name = key.starts_with(rope_prefix) ? key.substr(rope_prefix.size()) : key;
               const auto counted = [&](const Json& value, const Json& config) {
                 return is_neutral(name, value, config) ? neutral_value(name, config) : value;
               };
               differences.demand_equal("model: " + key, counted(mine, reference), counted(theirs, candidate));
             });
  // Without a default it decides only how RoPE is scaled.
  const Json one = value_or(reference, "max_position_embeddings", nullptr),
             other = value_or(candidate, "max_position_embeddings", nullptr);
  if (!one.is_null() && !other.is_null()) differences.demand_equal("model: max_position_embeddings", one, other);
}

/// The numbers of this optimizer's formula.
std::vector<std::string> numbers_of_optimizer(const Json& optimizer) {
  std::vector<std::string> keys = {"learning_rate", "weight_decay"};
  const Json name = value_or(optimizer, "name", "");
  if (name == "adamw") keys.insert(keys.end(), {"beta1", "beta2", "eps"});
  if (name == "sgd") keys.push_back("momentum");
  return keys;
}

/// Keys of either that are not compared by name.
std::vector<std::string> other_optimizer_keys(const Json& reference, const Json& candidate) {
  std::vector<std::string> settled = numbers_of_optimizer(reference), others;
  settled.insert(settled.end(), {"name", "decay", "implementation"});
  settled.insert(settled.end(), optimizer_variants.begin(), optimizer_variants.end());
  visit_keys(reference, candidate, [&](const std::string& key, const Json&, const Json&) {
    if (std::ranges::find(settled, key) == settled.end()) others.push_back(key);
  });
  return others;
}

/// True if either has several groups: its settings then describe one group, and the ranks of the other record may hold
/// another.
bool of_several_groups(const Json& reference, const Json& candidate) {
  return !value_or(reference, "groups", nullptr).is_null() || !value_or(candidate, "groups", nullptr).is_null();
}

/// Recorders leave out what is false or 0.
Json unless_off(const Json& optimizer, const std::string& key) {
  const Json value = value_or(optimizer, key, 0);
  return value == Json(false) || value == Json("") ? Json(0) : value;
}

}  // namespace

void Differences::demand_equal(const std::string& what, const std::string& reference, const std::string& candidate) {
  if (reference == candidate) return;
  words.push_back(fmt::format("{} is {} in {} and {} in {}", what, named(reference), one_, named(candidate), other_));
}

void Differences::demand_equal(const std::string& what, const Json& reference, const Json& candidate) {
  if (!same_content(reference, candidate)) demand_equal(what, json_text(reference), json_text(candidate));
}

Json value_or(const Json& object, const std::string& key, const Json& fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? fallback : *found;
}

void compare_models(const Json& reference, const Json& candidate, Differences& differences) {
  const ExpectedModel one = expected_model(reference), other = expected_model(candidate);
  const auto demand = [&](const std::string& key, std::int64_t left, std::int64_t right) {
    differences.demand_equal("model: " + key, to_text(left), to_text(right));
  };
  demand("vocab_size", one.vocabulary, other.vocabulary);
  demand("hidden_size", one.hidden, other.hidden);
  demand("intermediate_size", one.intermediate, other.intermediate);
  demand("num_hidden_layers", one.layers, other.layers);
  demand("num_attention_heads", one.heads, other.heads);
  demand("num_key_value_heads", one.kv_heads, other.kv_heads);
  demand("head_dim", one.head_dim, other.head_dim);
  demand("tie_word_embeddings", one.tied, other.tied);
  demand("attention_bias", one.attention_bias, other.attention_bias);
  demand("mlp_bias", one.mlp_bias, other.mlp_bias);
  differences.demand_equal("model: rms_norm_eps", value_or(reference, "rms_norm_eps", 1e-6),
                           value_or(candidate, "rms_norm_eps", 1e-6));
  differences.demand_equal("model: hidden_act", value_or(reference, "hidden_act", "silu"),
                           value_or(candidate, "hidden_act", "silu"));
  differences.demand_equal("model: RoPE", rope_of(reference), rope_of(candidate));
  compare_other_keys(reference, candidate, differences);
}

void compare_configs(const Json& reference, const Json& candidate, Differences& differences) {
  visit_keys(reference, candidate, [&](const std::string& key, const Json& mine, const Json& theirs) {
    if (!key.starts_with("_") && key != "transformers_version") differences.demand_equal("model: " + key, mine, theirs);
  });
}

std::vector<std::string> optimizer_keys_not_judged(const Json& reference, const Json& candidate) {
  std::vector<std::string> keys;
  if (!of_several_groups(reference, candidate)) return keys;
  for (const std::string& key : other_optimizer_keys(reference, candidate))
    if (unless_off(reference, key) != unless_off(candidate, key)) keys.push_back("optimizer." + key);
  return keys;
}

void compare_optimizers(const Json& reference, const Json& candidate, Differences& differences) {
  const Json name = value_or(reference, "name", "");
  differences.demand_equal("optimizer", name, value_or(candidate, "name", ""));
  differences.demand_equal("optimizer: decay", value_or(reference, "decay", "all"),
                           value_or(candidate, "decay", "all"));
  for (const auto& key : numbers_of_optimizer(reference)) {
    differences.demand_equal("optimizer: " + key, value_or(reference, key, nullptr), value_or(candidate, key, nullptr));
  }
  const auto demand = [&](const std::string& key) {
    differences.demand_equal("optimizer: " + key, unless_off(reference, key), unless_off(candidate, key));
  };
  for (const char* key : optimizer_variants)
    if (std::string_view(key) != "groups") demand(key);  // of ranks that hold different parameters
  if (of_several_groups(reference, candidate)) return;
  for (const std::string& key : other_optimizer_keys(reference, candidate)) demand(key);
}

void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences) {
  if (!one.learning_rate_schedule || !other.learning_rate_schedule) return;
  const auto &mine = *one.learning_rate_schedule, &theirs = *other.learning_rate_schedule;
  const std::string of = "learning rate schedule: ";
  differences.demand_equal(of + "warmup_steps", to_text(mine.warmup_steps), to_text(theirs.warmup_steps));
  differences.demand_equal(of + "start_factor", to_text(mine.start_factor), to_text(theirs.start_factor));
  differences.demand_equal(of + "final_factor", to_text(mine.final_factor), to_text(theirs.final_factor));
  differences.demand_equal(of + "total_steps", to_text(mine.total_steps), to_text(theirs.total_steps));
  differences.demand_equal(of + "curve", mine.curve, theirs.curve);
  differences.demand_equal(of + "decay_steps", to_text(mine.decay_steps), to_text(theirs.decay_steps));
}

}  // namespace plumbline::judging
