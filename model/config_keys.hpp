// SPDX-License-Identifier: BSD-3-Clause
// The keys that may stand in a config.json: read, neutral with one value, or ignored by transformers' own Llama.
#pragma once

#include <string>
#include <vector>

#include "model/config_reader.hpp"

namespace plumbline {

/// attention_dropout, hidden_dropout, resid_pdrop, ...
bool is_dropout(const std::string& key);

/// Throws InputError for a key that may stand there only with the value that changes nothing, and has another.
void refuse_unless_neutral(const ConfigReader& config);

/// Throws InputError naming the first key that is none of these, and the one that was probably meant. A key that is
/// null is not given.
void refuse_unknown_keys(const ConfigReader& config);

/// Those of the file that say nothing of what is trained: token numbers, text generation, bookkeeping.
std::vector<std::string> ignored_keys(const ConfigReader& config);

}  // namespace plumbline
