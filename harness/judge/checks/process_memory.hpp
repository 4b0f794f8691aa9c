// SPDX-License-Identifier: BSD-3-Clause
// Growth of a rank's process, including memory outside of tensors, as counted by Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/rows.hpp"

namespace plumbline::judging {

/// Growth of one process from step to step.
class ProcessGrowth {
 public:
  static constexpr std::int64_t allowed_growth = 64 << 20;  ///< bytes per step

  void step(const MemoryRow& row);

  bool measured() const { return !growths_.empty(); }
  std::int64_t most_private() const { return most_private_; }
  /// Median growth in bytes per step; requires measured().
  std::int64_t median() const;
  /// The first step that grew by more than allowed_growth.
  std::optional<std::int64_t> first_beyond() const { return first_beyond_; }

 private:
  struct Before {
    std::int64_t step, in_use;
  };
  std::optional<Before> before_;
  std::optional<std::int64_t> first_beyond_;
  std::vector<std::int64_t> growths_;
  std::int64_t most_private_ = 0;
};

}  // namespace plumbline::judging
