// SPDX-License-Identifier: BSD-3-Clause
// The norm of each gradient.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "training/train_state.hpp"

namespace plumbline {

struct ParameterNorm {
  std::string name;
  double norm = 0;
};

/// Elements of one piece of a gradient, in row-major order; the last piece has what is left. LibTorch takes a float64
/// copy of what it takes a norm of: 16 MiB.
inline constexpr std::int64_t norm_piece = std::int64_t{1} << 21;

/// fp64 norm of each gradient, in the state's order: sqrt(n_0^2 + n_1^2 + ...), from left to right, of the vector norms
/// of its pieces; of one piece, its norm. Of a tied model without `lm_head.weight`, whose gradient is embed_tokens'.
std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const TrainState& state);

}  // namespace plumbline
