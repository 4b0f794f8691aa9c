// SPDX-License-Identifier: BSD-3-Clause
// The keys allowed in a config.json: read, neutral with one value, or ignored by transformers' Llama.
#pragma once

#include <string>
#include <vector>

#include "model/config_reader.hpp"

namespace plumbline {

/// Throws InputError if a key that is allowed only with its neutral value has another value. `except`: those that the
/// model's family may set.
void refuse_unless_neutral(const ConfigReader& config, const std::vector<std::string>& except);

/// Throws InputError naming the first unknown key and the most similar known key. A key whose value is null counts as
/// absent.
void refuse_unknown_keys(const ConfigReader& config);

/// The keys of the file that do not affect training: token ids, text generation, bookkeeping.
std::vector<std::string> ignored_keys(const ConfigReader& config);

}  // namespace plumbline
