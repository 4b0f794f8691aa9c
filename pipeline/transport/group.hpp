// SPDX-License-Identifier: BSD-3-Clause
// Some ranks of a transport, with numbers of their own: those of one pipeline, or those of one place in all replicas;
// and which ranks exchange messages.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

/// Messages between these ranks, by their numbers in the group. Control calls are those of `world()`, of all ranks.
class Group {
 public:
  /// `members`: ranks of the world by their number in the group; this rank is one of them. `world` must outlive it.
  Group(Transport& world, std::vector<int> members);
  /// `size` ranks of the world: `first`, `first + stride`, ...
  Group(Transport& world, int first, int stride, int size);
  /// All ranks.
  explicit Group(Transport& world) : Group(world, 0, 1, world.size()) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  int in_world(int rank) const { return members_.at(static_cast<std::size_t>(rank)); }
  Transport& world() const { return world_; }

  Pending send(int peer, const MessageHeader& header, at::Tensor payload) {
    return world_.send(in_world(peer), header, std::move(payload));
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into = {}) {
    return world_.receive(in_world(peer), expected, std::move(into));
  }
  /// Traffic since the last call, all of it within the group.
  std::vector<TrafficCount> collect_traffic();

 private:
  Transport& world_;
  std::vector<int> members_;
  int rank_;
};

/// The pairs of ranks that exchange boundary tensors in this placement, and the ends that exchange a tied weight. Pairs
/// with an even first rank come first, so that pairs without a common rank connect at the same time. With several
/// replicas of the pipeline: those of each, then the ranks of each place in all replicas.
std::vector<ConnectedRanks> connections_of(const Placement& placement, bool tied, int replicas = 1);

}  // namespace plumbline
