// AdamW in LibTorch's fused form, and SGD with momentum, over the parameters a rank holds.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/llama_slice.hpp"
#include "training/run_file.hpp"

namespace plumbline {

class Optimizer {
 public:
  /// Makes the state (zeroed) of every parameter that is no alias, under MemoryOwner::optimizer.
  Optimizer(const OptimizerSettings& settings, std::vector<Parameter>& parameters);

  /// One update with the gradients as they stand. Its own tensors belong to MemoryOwner::other.
  void step(double learning_rate);

  std::int64_t steps_done() const { return steps_done_; }
  std::int64_t state_bytes() const;
  /// One entry per parameter that is no alias, in order; `moment1` momentum buffer or exp_avg, `moment2` exp_avg_sq;
  /// undefined where the optimiser lacks it.
  struct State {
    std::string name;
    at::Tensor moment1, moment2, step;
  };
  const std::vector<State>& states() const { return states_; }

 private:
  OptimizerSettings settings_;
  std::vector<at::Tensor> values_;
  std::vector<State> states_;
  std::int64_t steps_done_ = 0;
};

}  // namespace plumbline
