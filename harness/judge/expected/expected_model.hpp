// SPDX-License-Identifier: BSD-3-Clause
// The expected units and parameters of a model. For a Llama they are derived from the manifest alone: the harness
// shares no code with the trainers, so it does not repeat their errors in names and shapes. For other models the
// reference defines them (harness/judge/evidence/cell_evidence.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/manifest.hpp"
#include "record/rows.hpp"
#include "support/elements.hpp"
#include "support/json.hpp"

namespace plumbline::judging {

struct ExpectedParameter {
  std::string name;  ///< Hugging Face name
  std::string unit;
  Shape shape;
  std::string dtype = {};  ///< empty: the manifest's
};

struct ExpectedModel {
  /// Sizes of a Llama with Hugging Face's names; 0 if only units and parameters are known.
  std::int64_t vocabulary = 0, hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool tied = false, attention_bias = false, mlp_bias = false;
  bool pad_token = false;  ///< pad_token_id is set: its row of the embedding gets no gradient as an input
  std::vector<std::string>
      units;  ///< embed_tokens, layers.0 ... or layers.0.attention, layers.0.mlp ..., norm, lm_head
  std::vector<ExpectedParameter> parameters;  ///< in canonical order; includes lm_head.weight, also if tied

  bool has_sizes() const { return hidden > 0; }
  std::optional<std::int64_t> unit_position(const std::string& unit) const;
  std::optional<std::int64_t> parameter_position(const std::string& name) const;
};

/// True if a unit of the stages is a half of a layer: "layers.3.attention", "layers.3.mlp".
bool cuts_layers(const Manifest& manifest);

/// Derives the model from the manifest's `model`, the keys of a Hugging Face config.json with transformers' defaults.
/// `halves`: the attention and the MLP of a layer are units of their own. Throws InputError naming the key.
ExpectedModel expected_model(const Json& config, bool halves = false);

/// True if the manifest states that the parameter has no gradient.
bool is_frozen(const Manifest& manifest, const std::string& parameter);

}  // namespace plumbline::judging
