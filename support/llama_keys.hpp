// SPDX-License-Identifier: BSD-3-Clause
// Keys of a Hugging Face config.json and their values that change nothing in a Llama's training. One list for the
// trainer, which refuses other values, and the judge, which compares them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// Keys that change nothing if absent, null or of this value.
struct NeutralKeys {
  Json value;  ///< null: no value is neutral
  std::vector<std::string> keys;
};
const std::vector<NeutralKeys>& neutral_keys();

/// True for keys whose values never affect training: token ids, text generation, bookkeeping.
bool changes_nothing(const std::string& key);

/// attention_dropout, hidden_dropout, resid_pdrop, ...: neutral if 0.
bool is_dropout(const std::string& key);

/// Neutral value of a scale that depends on the config's sizes (attention_multiplier, ...); nullopt for other keys and
/// without these sizes.
std::optional<double> neutral_scale(const std::string& key, const Json& config);

/// The value that counts for an absent key: its neutral value, transformers' default of the range of initial values, or
/// null for a key that is not known.
Json neutral_value(const std::string& key, const Json& config);

/// True if the key with this value changes nothing in a Llama with these sizes.
bool is_neutral(const std::string& key, const Json& value, const Json& config);

}  // namespace plumbline
