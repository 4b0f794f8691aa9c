// SPDX-License-Identifier: BSD-3-Clause
// Counts of rows read and held in memory, for tests of streaming.
#pragma once

#include <cstdint>

namespace plumbline {

struct RowCounts {
  std::int64_t parsed = 0;      ///< rows parsed
  std::int64_t handed_out = 0;  ///< rows returned to the reader
  std::int64_t most_held = 0;   ///< largest number of rows in memory at once
};

}  // namespace plumbline
