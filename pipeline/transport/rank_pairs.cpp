// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/rank_pairs.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace plumbline {

std::vector<RankPair> pairs_of(const Placement& placement, bool tied) {
  std::set<RankPair> pairs;
  const auto add = [&](int one, int other) {
    if (one != other) pairs.insert(std::minmax(one, other));
  };
  for (std::int32_t stage = 0; stage + 1 < placement.stages(); ++stage) {
    add(placement.rank_of(stage), placement.rank_of(stage + 1));
  }
  if (tied) add(placement.rank_of(0), placement.rank_of(placement.stages() - 1));
  std::vector<RankPair> ordered(pairs.begin(), pairs.end());
  std::stable_partition(ordered.begin(), ordered.end(), [](const RankPair& pair) { return pair.first % 2 == 0; });
  return ordered;
}

}  // namespace plumbline
