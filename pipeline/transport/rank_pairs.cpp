// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/rank_pairs.hpp"

#include <algorithm>
#include <set>

namespace plumbline {

std::vector<ConnectedRanks> connections_of(const Placement& placement, bool tied, int replicas) {
  std::set<ConnectedRanks> pairs;
  const auto add = [&](int one, int other) {
    for (int replica = 0; replica < replicas && one != other; ++replica) {
      const int first = replica * placement.ranks;
      pairs.insert({first + std::min(one, other), first + std::max(one, other)});
    }
  };
  for (std::int32_t stage = 0; stage + 1 < placement.stages(); ++stage) {
    add(placement.rank_of(stage), placement.rank_of(stage + 1));
  }
  if (tied) add(placement.rank_of(0), placement.rank_of(placement.stages() - 1));
  std::vector<ConnectedRanks> ordered(pairs.begin(), pairs.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const ConnectedRanks& pair) { return pair[0] % 2 == 0; });
  for (int rank = 0; rank < placement.ranks && replicas > 1; ++rank) {
    ConnectedRanks& place = ordered.emplace_back();
    for (int replica = 0; replica < replicas; ++replica) place.push_back(replica * placement.ranks + rank);
  }
  return ordered;
}

}  // namespace plumbline
