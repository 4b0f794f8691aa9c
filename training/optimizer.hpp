// SPDX-License-Identifier: BSD-3-Clause
// AdamW in LibTorch's fused form, and SGD with momentum, over a rank's parameters.
#pragma once

#include "training/run_file.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Updates all parameters, and the copies of those that have any, with the current gradients; a rank without parameters
/// still counts steps. Temporaries belong to MemoryOwner::other.
void optimizer_step(const OptimizerSettings& settings, TrainState& state, double learning_rate);

}  // namespace plumbline
