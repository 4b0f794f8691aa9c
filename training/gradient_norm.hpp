// SPDX-License-Identifier: BSD-3-Clause
// Norms of single gradients, and the global gradient norm, with the same bits on one device and on P ranks: norms are
// added in an order that does not depend on the partition.
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

/// Elements per piece of a gradient, in row-major order; the last piece may be smaller. LibTorch makes a float64 copy
/// of the operand of a norm: 16 MiB.
inline constexpr std::int64_t norm_piece = std::int64_t{1} << 21;

/// fp64 norm of each gradient, in the state's order: sqrt(n_0^2 + n_1^2 + ...), from left to right, of the vector norms
/// of its pieces; of a single piece, its norm. A tied model has no entry `lm_head.weight`, whose gradient is part
/// of embed_tokens'.
std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const TrainState& state);

/// Square root of the left-to-right sum of squares in canonical order. `norms` may come from several ranks in any
/// order. Throws std::logic_error unless each parameter of the model occurs exactly once (and `lm_head.weight` of a
/// tied model does not).
double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms);

}  // namespace plumbline
