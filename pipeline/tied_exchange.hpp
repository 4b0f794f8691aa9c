// SPDX-License-Identifier: BSD-3-Clause
// A tied weight on two ranks: sums the gradients of its two uses and checks that its copies stay equal.
#pragma once

#include <cstdint>

#include "pipeline/transport/group.hpp"
#include "training/tied_weight.hpp"

namespace plumbline {

/// Called by the ranks of embedding and head, each naming the other as `peer`. The head's gradient is sent to the
/// embedding's rank, added there, and the sum is sent back. Without messages if one rank holds both. Returns the time
/// spent in messages, in nanoseconds.
std::int64_t exchange_tied_gradients(Group& pipeline, const TiedWeight& tied, int peer);

/// Collective. The result is on rank 0; other ranks return true.
bool tied_copies_are_equal(RankGroup& world, const TiedWeight& tied);

}  // namespace plumbline
