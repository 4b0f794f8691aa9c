// SPDX-License-Identifier: BSD-3-Clause
// The two names of the weight shared by embedding and head of a tied model.
#pragma once

#include <string>

#include "model/config.hpp"

namespace plumbline {

inline const std::string embedding_weight = "model.embed_tokens.weight";
inline const std::string head_weight = "lm_head.weight";

/// Whether this name is the head's use of a tied weight, which has only a gradient of its own.
inline bool is_tied_head(const LlamaConfig& config, const std::string& name) {
  return config.tied && name == head_weight;
}

/// The name under which a parameter's values are stored or drawn: for a tied head, the embedding's.
inline const std::string& owner_name(const LlamaConfig& config, const std::string& name) {
  return is_tied_head(config, name) ? embedding_weight : name;
}

}  // namespace plumbline
