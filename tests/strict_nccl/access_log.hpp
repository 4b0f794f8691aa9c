// SPDX-License-Identifier: BSD-3-Clause
// Detects two operations on different streams that use the same memory without synchronization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "tests/strict_nccl/clock.hpp"

namespace plumbline::strict {

struct Range {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;

  Range() = default;
  Range(const void* data, std::size_t size) : begin(static_cast<const std::byte*>(data)), bytes(size) {}
  bool overlaps(const Range& other) const { return begin < other.begin + other.bytes && other.begin < begin + bytes; }
};

struct Access {
  static constexpr std::uint64_t under_way = std::numeric_limits<std::uint64_t>::max();

  Range range;
  bool write = false;
  int rank = 0;  ///< whose GPU: equal addresses on two GPUs are different memory
  int stream = 0;
  std::string who;  ///< "rank 1's receive of 12 float32 from rank 0"
  std::uint64_t tick = under_way;
};

class AccessLog {
 public:
  /// Records the access and returns it, so that its end can be recorded later. Sets `finding` if there is a data race;
  /// `clock` is what the access's stream is ordered after.
  std::shared_ptr<Access> begin(Access access, const Clock& clock, std::optional<std::string>& finding) {
    for (const auto& earlier : log_) {
      const bool conflict =
          earlier->rank == access.rank && earlier->range.overlaps(access.range) && (earlier->write || access.write);
      if (!conflict || earlier->stream == access.stream || clock.knows(earlier->stream, earlier->tick)) continue;
      finding = access.who + (access.write ? " writes" : " reads") + " memory that " + earlier->who +
                (earlier->write ? " writes" : " reads") +
                (earlier->tick == Access::under_way ? " at that moment" : " on another stream") +
                ", and no event orders the two";
    }
    log_.push_back(std::make_shared<Access>(std::move(access)));
    // Old accesses are ordered before everything, since no host thread runs that far ahead.
    if (log_.size() > longest && log_.front()->tick != Access::under_way) log_.pop_front();
    return log_.back();
  }

 private:
  static constexpr std::size_t longest = 256;
  std::deque<std::shared_ptr<Access>> log_;
};

}  // namespace plumbline::strict
