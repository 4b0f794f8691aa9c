// SPDX-License-Identifier: BSD-3-Clause
// Vector clocks over streams and host threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace plumbline::strict {

/// What a stream or a host thread is ordered after: a number of operations of each stream.
class Clock {
 public:
  void merge(const Clock& other) {
    for (const auto& [stream, ticks] : other.seen_) seen_[stream] = std::max(seen_[stream], ticks);
  }
  std::uint64_t tick(int stream) { return ++seen_[stream]; }
  bool knows(int stream, std::uint64_t ticks) const {
    const auto found = seen_.find(stream);
    return found != seen_.end() && found->second >= ticks;
  }

 private:
  std::map<int, std::uint64_t> seen_;
};

}  // namespace plumbline::strict
