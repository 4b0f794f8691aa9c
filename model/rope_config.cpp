// SPDX-License-Identifier: BSD-3-Clause
#include "model/rope_config.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr double default_theta = 10000.0;  // transformers' RotaryEmbeddingConfigMixin.default_theta

/// Type and scaling in the newer spelling; rope_theta is compared where it is read.
Json without_theta(const Json& object) {
  if (!object.is_object()) return object;
  Json scaling = {{"rope_type", "default"}};
  for (const auto& [key, value] : object.items()) {
    if (!value.is_null() && key != "rope_theta") scaling[key == "type" ? "rope_type" : key] = value;
  }
  return scaling;
}

/// The object that holds type and scaling, under either name; null if there is none.
std::optional<ConfigReader> scaling_object(const ConfigReader& config) {
  const bool new_spelling = config.has("rope_parameters");
  const bool old_spelling = config.has("rope_scaling");
  if (new_spelling && old_spelling &&
      !same_content(without_theta(config.value("rope_parameters")), without_theta(config.value("rope_scaling")))) {
    throw config.wrong("rope_scaling", "differs from rope_parameters = " + json_text(config.value("rope_parameters")) +
                                           ": keep one of them");
  }
  if (new_spelling) {
    return config.object("rope_parameters");
  }
  if (old_spelling) {
    return config.object("rope_scaling");
  }
  return std::nullopt;
}

std::string type_key(const ConfigReader& rope) {
  if (rope.has("rope_type") && rope.has("type") && rope.value("rope_type") != rope.value("type")) {
    throw rope.wrong("type", "differs from rope_type = " + json_text(rope.value("rope_type")) + ": keep one of them");
  }
  return rope.has("rope_type") ? "rope_type" : "type";
}

/// May be given in up to three places, which must agree.
double read_theta(const ConfigReader& config) {
  std::optional<double> theta;
  const auto take = [&](const ConfigReader& where) {
    if (!where.has("rope_theta")) return;
    const double given = where.positive("rope_theta");
    if (theta && *theta != given) {
      throw where.wrong("rope_theta",
                        "differs from another rope_theta of the file, " + Json(*theta).dump() + ": keep one of them");
    }
    theta = given;
  };
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (config.has(key)) take(config.object(key));
  }
  take(config);
  return theta.value_or(default_theta);
}

Llama3RopeScaling read_llama3(const ConfigReader& rope, std::int64_t max_position_embeddings) {
  Llama3RopeScaling scaling;
  scaling.factor = rope.positive("factor");
  scaling.low_freq_factor = rope.positive("low_freq_factor");
  scaling.high_freq_factor = rope.positive("high_freq_factor");
  scaling.original_max_position_embeddings =
      rope.positive_or("original_max_position_embeddings", static_cast<double>(max_position_embeddings));
  if (scaling.factor < 1) {
    throw rope.wrong("factor", "must be at least 1");
  }
  if (!(scaling.high_freq_factor > scaling.low_freq_factor)) {
    throw rope.wrong("high_freq_factor", "must be above low_freq_factor");
  }
  return scaling;
}

/// Unknown keys are refused: a misspelled key would disable the scaling silently.
void refuse_unknown_parts(const ConfigReader& rope, const std::string& type) {
  std::vector<std::string> known = {"rope_type", "type", "rope_theta", "partial_rotary_factor",
                                    "original_max_position_embeddings"};
  if (type == "llama3") known.insert(known.end(), {"factor", "low_freq_factor", "high_freq_factor"});
  for (const auto& [key, value] : rope.json().items()) {
    if (value.is_null() || std::ranges::find(known, key) != known.end()) continue;
    throw rope.wrong(
        key, "is not a key of rope_type \"" + type + "\"; remove it if it changes nothing" + did_you_mean(key, known));
  }
}

}  // namespace

RopeConfig read_rope(const ConfigReader& config, std::int64_t max_position_embeddings) {
  const std::optional<ConfigReader> rope = scaling_object(config);
  RopeConfig result;
  result.theta = read_theta(config);
  if (!rope) {
    return result;
  }
  if (rope->has("partial_rotary_factor") && rope->value("partial_rotary_factor") != 1) {
    throw rope->unsupported("partial_rotary_factor", "1");
  }
  const std::string key = type_key(*rope);
  const std::string type = rope->text_or(key, "default");
  if (type == "llama3") {
    result.scaling = read_llama3(*rope, max_position_embeddings);
  } else if (type != "default") {
    throw rope->unsupported(key, "\"default\" and \"llama3\"");
  }
  refuse_unknown_parts(*rope, type);
  return result;
}

}  // namespace plumbline
