// Counts what a transport moved, by peer, direction and side.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

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

  /// Ordered by peer, forward before backward, sends before receives. Starts anew.
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
