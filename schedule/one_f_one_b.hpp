// SPDX-License-Identifier: BSD-3-Clause
// One forward, one backward, without a flush between them (PipeDream-Flush; Megatron, arXiv:2104.04473).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of `rank` of `ranks`, one chunk per rank (stage = rank): min(m, p-1-r) warm-up forwards, then F
/// and B in turn, then the remaining backwards. Fewer microbatches than ranks are allowed. Peak slots: min(m, p-r).
ActionList one_f_one_b_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

}  // namespace plumbline
