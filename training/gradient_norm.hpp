// The norm of each gradient.
#pragma once

#include <string>
#include <vector>

#include "model/config.hpp"
#include "training/train_state.hpp"

namespace plumbline {

struct ParameterNorm {
  std::string name;
  double norm = 0;
};

/// fp64 vector norm of each gradient, in the state's order; of a tied model without `lm_head.weight`, whose gradient is
/// embed_tokens'.
std::vector<ParameterNorm> gradient_norms(const LlamaConfig& config, const TrainState& state);

}  // namespace plumbline
