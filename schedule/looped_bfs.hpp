// SPDX-License-Identifier: BSD-3-Clause
// Breadth first: all microbatches through a chunk before the next chunk (arXiv:2211.05953).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of `rank`, loop placement; backward from the last chunk to the first, each in ascending microbatch
/// order. Peak slots: m v.
ActionList looped_bfs_list(std::int32_t rank, std::int32_t ranks, std::int32_t microbatches, std::int32_t chunks);

}  // namespace plumbline
