// Which ranks exchange messages, and in which order their connections are made.
#pragma once

#include <vector>

#include "pipeline/transport/transport.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// The pairs of ranks that a placement's stages need, and the ends where a tied weight goes between them. Every other
/// pair comes first, so that pairs with no rank in common start at the same time.
std::vector<RankPair> pairs_of(const Placement& placement, bool tied);

}  // namespace plumbline
