// SPDX-License-Identifier: BSD-3-Clause
// Which ranks exchange messages, and in which order their connections are made.
#pragma once

#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Two different ranks, in either order.
using RankPair = std::pair<int, int>;

/// The pairs of ranks that a placement's stages need, and the ends where a tied weight goes between them. Every other
/// pair comes first, so that pairs with no rank in common start at the same time.
std::vector<RankPair> pairs_of(const Placement& placement, bool tied);

}  // namespace plumbline
