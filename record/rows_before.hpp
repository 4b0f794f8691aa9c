// SPDX-License-Identifier: BSD-3-Clause
// How many rows of a rank's tables stand before those in hand: what makes a row's line of its place among these.
#pragma once

#include <cstddef>

namespace plumbline {

struct RankRecord;

struct RowsBefore {
  std::size_t steps = 0, microbatches = 0, tensors = 0, boundaries = 0, evaluation = 0;

  /// Those in hand stand before the next.
  void add(const RankRecord& in_hand);
};

}  // namespace plumbline
