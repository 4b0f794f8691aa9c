// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "harness/judge/expected/expected_model.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

std::string named(const std::string& text) {
  return text.empty() ? "absent" : text;
}

/// Of both spellings; of a key that both have, the newer one's value.
Json rope_object(const Json& config) {
  Json rope = Json::object();
  for (const char* spelling : {"rope_scaling", "rope_parameters"}) {
    const Json given = value_or(config, spelling, nullptr);
    if (given.is_object()) rope.update(given);
  }
  return rope;
}

/// The RoPE parameters in either spelling, as one object: base and scaling.
Json rope_of(const Json& config) {
  const Json rope = rope_object(config);
  Json plain;
  plain["rope_theta"] = value_or(rope, "rope_theta", value_or(config, "rope_theta", 10000.0));
  plain["rope_type"] = value_or(rope, "rope_type", value_or(rope, "type", "default"));
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    plain[key] = value_or(rope, key, nullptr);
  }
  return plain;
}

/// Keys of a Llama's config that are compared by name above, or that do not affect the computation: settings of storage
/// and of text generation.
constexpr std::string_view settled_keys[] = {"vocab_size",
                                             "hidden_size",
                                             "intermediate_size",
                                             "num_hidden_layers",
                                             "num_attention_heads",
                                             "num_key_value_heads",
                                             "head_dim",
                                             "attention_bias",
                                             "mlp_bias",
                                             "tie_word_embeddings",
                                             "rms_norm_eps",
                                             "hidden_act",
                                             "rope_theta",
                                             "rope_scaling",
                                             "rope_parameters",
                                             "architectures",
                                             "model_type",
                                             "torch_dtype",
                                             "dtype",
                                             "transformers_version",
                                             "use_cache",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "name_or_path"};

/// Default of an absent key in transformers' Llama; nullopt if it is unknown.
std::optional<Json> value_of_absent(const std::string& key) {
  static const Json values = {{"attention_dropout", 0},
                              {"initializer_range", 0.02},
                              {"pretraining_tp", 1},
                              {"sliding_window", nullptr},
                              {"layer_types", "all full_attention"}};
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional<Json>(*found);
}

/// Full attention in all layers equals a Llama's.
bool is_neutral(const std::string& key, const Json& value) {
  return key == "layer_types" && value.is_array() &&
         std::ranges::all_of(value, [](const Json& type) { return type == Json("full_attention"); });
}

/// Keys that are not compared by name, including those within RoPE.
Json other_keys(const Json& config) {
  Json others = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (std::ranges::find(settled_keys, key) == std::end(settled_keys) && !key.starts_with("_")) others[key] = value;
  }
  const Json rope = rope_object(config), named = rope_of(config);
  for (const auto& [key, value] : rope.items()) {
    if (!named.contains(key) && key != "type") others["RoPE's " + key] = value;
  }
  return others;
}

/// Compares every other key of a Llama: those that both have, and those that one has if the default is known. Adds the
/// others to `alone`.
void compare_other_keys(const Json& reference, const Json& candidate, Differences& differences,
                        std::vector<std::string>& alone) {
  const Json one = other_keys(reference), other = other_keys(candidate);
  for (const std::string& key : keys_of(one, other)) {
    const auto value_in = [&](const Json& config) -> std::optional<Json> {
      const Json value = value_or(config, key, nullptr);
      return value.is_null() || is_neutral(key, value) ? value_of_absent(key) : std::optional(value);
    };
    const auto mine = value_in(one), theirs = value_in(other);
    if (mine && theirs) differences.demand_equal("model: " + key, *mine, *theirs);
    if (mine.has_value() != theirs.has_value()) alone.push_back(key);
  }
}

/// The numbers of this optimiser's formula.
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
  for (const std::string& key : keys_of(reference, candidate)) {
    if (std::ranges::find(settled, key) == settled.end()) others.push_back(key);
  }
  return others;
}

/// False if one alone has the key, and of several groups: the settings are those of one group, and the ranks of the
/// other record may hold another.
bool is_comparable(const std::string& key, const Json& reference, const Json& candidate) {
  const auto has = [](const Json& optimizer, const std::string& name) {
    return !value_or(optimizer, name, nullptr).is_null();
  };
  return has(reference, key) && has(candidate, key) && !has(reference, "groups") && !has(candidate, "groups");
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

std::set<std::string> keys_of(const Json& one, const Json& other) {
  std::set<std::string> keys;
  for (const Json* config : {&one, &other}) {
    for (const auto& [key, value] : config->items()) keys.insert(key);
  }
  return keys;
}

std::vector<std::string> model_keys_of_one(const Json& reference, const Json& candidate) {
  std::vector<std::string> alone;
  Differences ignored;
  compare_other_keys(reference, candidate, ignored, alone);
  return alone;
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
  std::vector<std::string> alone;
  compare_other_keys(reference, candidate, differences, alone);
}

void compare_configs(const Json& reference, const Json& candidate, Differences& differences) {
  for (const auto& key : keys_of(reference, candidate)) {
    if (key.starts_with("_") || key == "transformers_version") continue;
    differences.demand_equal("model: " + key, value_or(reference, key, nullptr), value_or(candidate, key, nullptr));
  }
}

std::vector<std::string> optimizer_keys_not_judged(const Json& reference, const Json& candidate) {
  std::vector<std::string> keys;
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    const bool same = value_or(reference, key, nullptr) == value_or(candidate, key, nullptr);
    if (!same && !is_comparable(key, reference, candidate)) keys.push_back("optimizer." + key);
  }
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
  for (const char* key : optimizer_variants) {
    if (std::string_view(key) == "groups") continue;  // of ranks that hold different parameters
    const auto variant = [&](const Json& optimizer) {
      const Json value = value_or(optimizer, key, 0);
      return value == Json(false) ? Json(0) : value;
    };
    differences.demand_equal(std::string("optimizer: ") + key, variant(reference), variant(candidate));
  }
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    if (is_comparable(key, reference, candidate))
      differences.demand_equal("optimizer: " + key, reference.at(key), candidate.at(key));
  }
}

void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences) {
  if (!one.learning_rate_schedule || !other.learning_rate_schedule) return;
  const auto &mine = *one.learning_rate_schedule, &theirs = *other.learning_rate_schedule;
  const std::string of = "learning rate schedule: ";
  differences.demand_equal(of + "warmup_steps", to_text(mine.warmup_steps), to_text(theirs.warmup_steps));
  differences.demand_equal(of + "start_factor", to_text(mine.start_factor), to_text(theirs.start_factor));
  differences.demand_equal(of + "final_factor", to_text(mine.final_factor), to_text(theirs.final_factor));
  differences.demand_equal(of + "total_steps", to_text(mine.total_steps), to_text(theirs.total_steps));
}

}  // namespace plumbline::judging
