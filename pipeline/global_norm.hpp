// SPDX-License-Identifier: BSD-3-Clause
// The norm of all ranks' gradients, on which they agree at a step's end.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/total_norm.hpp"

namespace plumbline {

/// Rank 0 gets every rank's norms, adds them in canonical order and sends the total back: the same bits on every rank,
/// whatever their number. `own`: gradient_norms of this rank, computed before, so that what this takes is waiting.
double global_norm(Transport& transport, const LlamaConfig& config, const std::vector<ParameterNorm>& own);

}  // namespace plumbline
