// SPDX-License-Identifier: BSD-3-Clause
// One forward, one backward with several chunks per rank (interleaved 1F1B; Megatron, arXiv:2104.04473).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Consecutive microbatches of one chunk before the next chunk: m / rounds with rounds = max(1, floor(m / p)). 0 if the
/// rounds do not divide m: the schedule does not exist then.
std::int32_t interleaved_group(std::int32_t ranks, std::int32_t microbatches);

/// Number of forwards before the first backward: min(m v, 2 (p-r-1) + (v-1) g).
std::int32_t interleaved_warm_up(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

/// Compute-only list of `rank`, loop placement. Peak slots: min(m v, warm-up + 1).
ActionList interleaved_1f1b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

}  // namespace plumbline
