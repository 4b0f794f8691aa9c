// SPDX-License-Identifier: BSD-3-Clause
// The two names of the weight that embedding and head of a tied model share.
#pragma once

#include <string>

#include "model/config.hpp"

namespace plumbline {

inline const std::string embedding_weight = "model.embed_tokens.weight";
inline const std::string head_weight = "lm_head.weight";

/// Whether the parameter of this name is the head's copy of a tied weight: a use of its own, and nothing else of its
/// own.
inline bool is_tied_head(const LlamaConfig& config, const std::string& name) {
  return config.tied && name == head_weight;
}

/// The name that a parameter's values come from: both copies of a tied weight have the embedding's.
inline const std::string& owner_name(const LlamaConfig& config, const std::string& name) {
  return is_tied_head(config, name) ? embedding_weight : name;
}

}  // namespace plumbline
