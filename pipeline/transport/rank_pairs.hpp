// SPDX-License-Identifier: BSD-3-Clause
// Which ranks exchange messages, and the order in which they connect.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Two or more ranks that exchange messages with each other.
using ConnectedRanks = std::vector<int>;

/// The pairs of ranks that exchange boundary tensors in this placement, and the ends that exchange a tied weight. Pairs
/// with an even first rank come first, so that pairs without a common rank connect at the same time. With several
/// replicas of the pipeline: those of each, then the ranks of each place in all replicas.
std::vector<ConnectedRanks> connections_of(const Placement& placement, bool tied, int replicas = 1);

}  // namespace plumbline
