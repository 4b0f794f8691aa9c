// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/group.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace plumbline {

namespace {

std::vector<int> every(int first, int stride, int size) {
  std::vector<int> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

}  // namespace

Group::Group(Transport& world, std::vector<int> members)
    : world_(world),
      members_(std::move(members)),
      rank_(static_cast<int>(std::ranges::find(members_, world.rank()) - members_.begin())) {
  if (rank_ == size()) throw std::logic_error("rank " + std::to_string(world.rank()) + " is not in its own group");
}

Group::Group(Transport& world, int first, int stride, int size) : Group(world, every(first, stride, size)) {}

std::vector<TrafficCount> Group::collect_traffic() {
  std::vector<TrafficCount> counts = world_.collect_traffic();
  for (TrafficCount& count : counts) {
    count.peer = static_cast<int>(std::ranges::find(members_, count.peer) - members_.begin());
  }
  return counts;
}

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
