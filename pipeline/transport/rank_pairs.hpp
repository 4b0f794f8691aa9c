// SPDX-License-Identifier: BSD-3-Clause
// Which ranks exchange messages, and the order in which they connect.
#pragma once

#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Two different ranks, in either order.
using RankPair = std::pair<int, int>;

/// The pairs of ranks that exchange boundary tensors in this placement, and the ends that exchange a tied weight. Pairs
/// with an even first rank come first, so that pairs without a common rank connect at the same time. With several
/// replicas of the pipeline: those of each, and the pairs of the same place in two replicas.
std::vector<RankPair> pairs_of(const Placement& placement, bool tied, int replicas = 1);

}  // namespace plumbline
