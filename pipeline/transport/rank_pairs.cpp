// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/rank_pairs.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace plumbline {

std::vector<RankPair> pairs_of(const Placement& placement, bool tied, int replicas) {
  std::set<RankPair> pairs;
  const auto add = [&](int one, int other) {
    for (int replica = 0; replica < replicas && one != other; ++replica) {
      const int first = replica * placement.ranks;
      pairs.insert(std::minmax({first + one, first + other}));
    }
  };
  for (std::int32_t stage = 0; stage + 1 < placement.stages(); ++stage) {
    add(placement.rank_of(stage), placement.rank_of(stage + 1));
  }
  if (tied) add(placement.rank_of(0), placement.rank_of(placement.stages() - 1));
  for (int rank = 0; rank < placement.ranks; ++rank) {
    for (int one = 0; one < replicas; ++one) {
      for (int other = one + 1; other < replicas; ++other)
        pairs.emplace(one * placement.ranks + rank, other * placement.ranks + rank);
    }
  }
  std::vector<RankPair> ordered(pairs.begin(), pairs.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const RankPair& pair) { return pair.first % 2 == 0; });
  return ordered;
}

}  // namespace plumbline
