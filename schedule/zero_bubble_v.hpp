// SPDX-License-Identifier: BSD-3-Clause
// Zero bubble with two chunks per rank in a V: down the ranks and back up (ZB-V, arXiv:2401.10241).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of `rank`, which holds the stages r and 2p-1-r. No bubble for equal times and m >= 2p-1; with
/// fewer microbatches the missing ones are left out. Peak slots: 2p, or 2m if that is less.
ActionList zero_bubble_v_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches);

}  // namespace plumbline
