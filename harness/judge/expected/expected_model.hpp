// SPDX-License-Identifier: BSD-3-Clause
// What a model must consist of. Of a Llama that is worked out from the manifest alone: the harness shares no code with
// the trainers, so a wrong name or shape in theirs is not repeated here. Of another one the reference says it
// (harness/judge/evidence/model_of_records.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/manifest.hpp"
#include "record/rows.hpp"
#include "support/json.hpp"

namespace plumbline::judging {

struct ExpectedParameter {
  std::string name;  ///< Hugging Face name
  std::string unit;
  Shape shape;
  std::string dtype = {};  ///< empty: the manifest's
};

struct ExpectedModel {
  bool llama = true;  ///< with Hugging Face's names; else nothing is known but units and parameters
  std::int64_t vocabulary = 0, hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool tied = false, attention_bias = false, mlp_bias = false;
  bool pad_token = false;          ///< pad_token_id is given: its row of the embedding gets no gradient as an input
  std::vector<std::string> units;  ///< embed_tokens, layers.0 ..., norm, lm_head
  std::vector<ExpectedParameter> parameters;  ///< canonical order; lm_head.weight always, also when tied

  std::optional<std::int64_t> unit_position(const std::string& unit) const;
  std::optional<std::int64_t> parameter_position(const std::string& name) const;
};

/// Whether the manifest speaks of a Llama: our own trainers know no other model; an external one's config is of that
/// type, of a family that is one with the given keys, or of none and with the keys that make one, and its first unit is `embed_tokens`.
bool says_llama(const Manifest& manifest);

/// From the manifest's `model`, the keys of a Hugging Face config.json with transformers' defaults. Throws InputError
/// naming the key.
ExpectedModel expected_model(const Json& config);

std::int64_t elements(const Shape& shape);

/// Whether the manifest says that the parameter has no gradient.
bool is_frozen(const Manifest& manifest, const std::string& parameter);

}  // namespace plumbline::judging
