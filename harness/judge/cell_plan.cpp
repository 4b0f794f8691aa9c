// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/cell_plan.hpp"

#include <algorithm>

namespace plumbline {

bool asks_for_equal_lengths(const CellPlan& plan) {
  const auto& lengths = plan.lengths;
  return !lengths.empty() &&
         std::all_of(lengths.begin(), lengths.end(), [&](auto length) { return length == lengths.front(); });
}

}  // namespace plumbline
