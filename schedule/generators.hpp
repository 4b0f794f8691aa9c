// SPDX-License-Identifier: BSD-3-Clause
// The generated schedules, as lists of compute actions.
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

// All forwards, then all backwards (GPipe, arXiv:1811.06965).

/// Compute-only list of the rank that holds `stage`, one chunk per rank; backward passes in ascending microbatch order.
/// Peak slots: m.
ActionList afab_list(std::int32_t stage, std::int32_t microbatches);

// One forward, one backward, without a flush between them (PipeDream-Flush; Megatron, arXiv:2104.04473).

/// Compute-only list of `rank` of `ranks`, one chunk per rank (stage = rank): min(m, p-1-r) warm-up forwards, then F
/// and B in turn, then the remaining backwards. Fewer microbatches than ranks are allowed. Peak slots: min(m, p-r).
ActionList one_f_one_b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

// One forward, one backward with several chunks per rank (interleaved 1F1B; Megatron, arXiv:2104.04473).

/// Consecutive microbatches of one chunk before the next chunk: m / rounds with rounds = max(1, floor(m / p)). 0 if the
/// rounds do not divide m: the schedule does not exist then.
std::int32_t interleaved_group(std::int32_t ranks, std::int32_t microbatches);

/// Number of forwards before the first backward: min(m v, 2 (p-r-1) + (v-1) g).
std::int32_t interleaved_warm_up(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

/// Compute-only list of `rank`, loop placement. Peak slots: min(m v, warm-up + 1).
ActionList interleaved_1f1b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

// Breadth first: all microbatches through a chunk before the next chunk (arXiv:2211.05953).

/// Compute-only list of `rank`, loop placement; backward from the last chunk to the first, each in ascending microbatch
/// order. Peak slots: m v.
ActionList looped_bfs_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

// Zero bubble with one chunk per rank: weight gradients fill 1F1B's idle time (ZB-H1 and ZB-H2, arXiv:2401.10241).

/// Compute-only list of `rank` (stage = rank). `depth` 1 is ZB-H1, 2 is ZB-H2: min(m, depth (p-1-r)) warm-up forwards,
/// then F, I and the W of the microbatch `depth` r earlier. Peak slots: min(m, depth (p-1) + 1).
ActionList zero_bubble_h_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t depth);

// Zero bubble with two chunks per rank in a V: down the ranks and back up (ZB-V, arXiv:2401.10241).

/// Compute-only list of `rank`, which holds the stages r and 2p-1-r. No bubble for equal times and m >= 2p-1; with
/// fewer microbatches the missing ones are left out. Peak slots: 2p, or 2m if that is less.
ActionList zero_bubble_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

// DualPipe folded into a V of two chunks per rank (DeepSeek-V3 report, arXiv:2412.19437).

/// Compute-only list of `rank`, which holds the stages r and 2p-1-r; m >= 2p. A forward and a backward that the paper
/// overlaps are consecutive actions. Peak slots: 2p+1.
ActionList dualpipe_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

}  // namespace plumbline
