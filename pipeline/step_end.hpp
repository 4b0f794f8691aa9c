// SPDX-License-Identifier: BSD-3-Clause
// What ranks exchange at the end of a step: the gradients of a tied weight, and the norms of gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "pipeline/transport/group.hpp"
#include "training/gradient_norm.hpp"
#include "training/rank_group.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Called by the ranks of embedding and head, each naming the other as `peer`. The head's gradient is sent to the
/// embedding's rank, added there, and the sum is sent back. Without messages if one rank holds both. Returns the time
/// spent waiting, in nanoseconds.
std::int64_t exchange_tied_gradients(Group& pipeline, const TiedWeight& tied, int peer, std::int64_t step,
                                     std::int32_t last_stage);

/// Collective. The result is on rank 0; other ranks return true.
bool tied_copies_are_equal(RankGroup& world, const TiedWeight& tied);

/// Rank 0 gathers every rank's norms, adds them in canonical order and broadcasts the total, so every rank has the same
/// bits for any number of ranks. `own`: gradient_norms of this rank, computed by the caller so that this call's time is
/// only waiting. `counts`: false if they are another rank's as well, of a replica that counts.
double global_norm(RankGroup& group, const LlamaConfig& config, const std::vector<ParameterNorm>& own,
                   bool counts = true);

}  // namespace plumbline
