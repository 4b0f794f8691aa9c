// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/group.hpp"

#include <algorithm>
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
  std::vector<TrafficCount> within;
  for (TrafficCount& count : world_.collect_traffic()) {
    const auto member = std::ranges::find(members_, count.peer);
    if (member == members_.end()) continue;
    count.peer = static_cast<int>(member - members_.begin());
    within.push_back(count);
  }
  return within;
}

}  // namespace plumbline
