// SPDX-License-Identifier: BSD-3-Clause
// Number of rows that precede the current ones in each of a rank's tables: converts a row's index to its line.
#pragma once

#include <cstddef>

namespace plumbline {

struct RankRecord;

struct RowsBefore {
  std::size_t steps = 0, microbatches = 0, tensors = 0, boundaries = 0, evaluation = 0;

  /// Adds the current rows: they precede the next ones.
  void add(const RankRecord& in_hand);
};

}  // namespace plumbline
