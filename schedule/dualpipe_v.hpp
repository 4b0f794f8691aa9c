// SPDX-License-Identifier: BSD-3-Clause
// DualPipe folded into a V of two chunks per rank (DeepSeek-V3 report, arXiv:2412.19437).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of `rank`, which holds the stages r and 2p-1-r; m >= 2p. A forward and a backward that the paper
/// overlaps are consecutive actions. Peak slots: 2p+1.
ActionList dualpipe_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

}  // namespace plumbline
