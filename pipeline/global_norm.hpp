// SPDX-License-Identifier: BSD-3-Clause
// Computes the global gradient norm at the end of a step.
#pragma once

#include <vector>

#include "model/config.hpp"
#include "pipeline/transport/group.hpp"
#include "training/rank_group.hpp"
#include "training/total_norm.hpp"

namespace plumbline {

/// Rank 0 gathers every rank's norms, adds them in canonical order and broadcasts the total, so every rank has the same
/// bits for any number of ranks. `own`: gradient_norms of this rank, computed by the caller so that this call's time is
/// only waiting. `counts`: false if they are another rank's as well, of a replica that counts.
double global_norm(RankGroup& group, const LlamaConfig& config, const std::vector<ParameterNorm>& own,
                   bool counts = true);

}  // namespace plumbline
