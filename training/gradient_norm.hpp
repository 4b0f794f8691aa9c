// The global gradient norm, the same bits on one device and on P ranks: norms of single gradients, added in an order
// that no partition changes.
#pragma once

#include <string>
#include <vector>

#include "training/train_state.hpp"

namespace plumbline {

struct ParameterNorm {
  std::string name;
  double norm = 0;
};

/// fp64 vector norm of each gradient, in the state's order; of a tied model without `lm_head.weight`, whose gradient is
/// embed_tokens'.
std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const TrainState& state);
/// Square root of the left-to-right sum of squares in canonical order. `norms` may come from many ranks in any order;
/// throws std::logic_error unless each parameter of the model stands exactly once, and of a tied model no
/// `lm_head.weight`.
double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms);

}  // namespace plumbline
