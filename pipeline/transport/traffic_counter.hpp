// SPDX-License-Identifier: BSD-3-Clause
// Counts a transport's messages and bytes by peer, direction and side.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "schedule/direction.hpp"

namespace plumbline {

/// Payload operations and bytes moved, counted inside the transport.
struct TrafficCount {
  int peer = 0;
  Direction direction = Direction::forward;
  bool send = false;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
};

class TrafficCounter {
 public:
  void add(int peer, Direction direction, bool send, std::int64_t bytes) {
    TrafficCount& count = counts_[{peer, direction, !send}];
    count.peer = peer;
    count.direction = direction;
    count.send = send;
    count.operations += 1;
    count.bytes += bytes;
  }

  /// Returns the counts, ordered by peer, forward before backward, sends before receives, and resets them.
  std::vector<TrafficCount> take() {
    std::vector<TrafficCount> taken;
    for (const auto& [key, count] : counts_) taken.push_back(count);
    counts_.clear();
    return taken;
  }

 private:
  std::map<std::tuple<int, Direction, bool>, TrafficCount> counts_;
};

}  // namespace plumbline
