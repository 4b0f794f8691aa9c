// SPDX-License-Identifier: BSD-3-Clause
// AdamW in LibTorch's fused form, and SGD with momentum, over the parameters a rank holds.
#pragma once

#include "training/run_file.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// One update of all parameters, and of the copies of those that have any, with the gradients as they stand; a rank
/// that owns none counts its steps all the same. Its own tensors belong to MemoryOwner::other.
void optimizer_step(const OptimizerSettings& settings, TrainState& state, double learning_rate);

}  // namespace plumbline
