// The parameters that code asks for by name: those that a tied model shares.
#pragma once

namespace plumbline {

inline constexpr const char* embedding_name = "model.embed_tokens.weight";
inline constexpr const char* head_name = "lm_head.weight";

}  // namespace plumbline
