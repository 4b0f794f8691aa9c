// The norm of all ranks' gradients, on which they agree at a step's end.
#pragma once

#include "model/config.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Rank 0 gets every rank's norms, adds them in canonical order and sends the total back: the same bits on every rank,
/// whatever their number.
double global_norm(Transport& transport, const LlamaConfig& config, const TrainState& state);

}  // namespace plumbline
