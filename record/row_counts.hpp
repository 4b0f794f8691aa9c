// SPDX-License-Identifier: BSD-3-Clause
// How much of a record has been read, and how much of it is held at once.
#pragma once

#include <cstdint>

namespace plumbline {

struct RowCounts {
  std::int64_t parsed = 0;      ///< each row of each table once
  std::int64_t handed_out = 0;  ///< given to whoever reads, step by step
  std::int64_t most_held = 0;   ///< in memory at once
};

}  // namespace plumbline
