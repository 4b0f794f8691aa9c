// SPDX-License-Identifier: BSD-3-Clause
// Zero bubble with one chunk per rank: weight gradients fill 1F1B's idle time (ZB-H1 and ZB-H2, arXiv:2401.10241).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of `rank` (stage = rank). `depth` 1 is ZB-H1, 2 is ZB-H2: min(m, depth (p-1-r)) warm-up forwards,
/// then F, I and the W of the microbatch `depth` r earlier. Peak slots: min(m, depth (p-1) + 1).
ActionList zero_bubble_h_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t depth);

}  // namespace plumbline
