// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/expected.hpp"

#include <algorithm>

namespace plumbline::judging {

Expectations expected_facts(const StepEvidence& now, Column column) {
  Expectations expected;
  if (column == Column::forward || column == Column::backward)
    expect_boundaries(now, column, expected);
  else if (is_tensor(column))
    expect_tensors(now, column, expected);
  else
    expect_scalars(now, column, expected);
  std::ranges::stable_sort(expected, {}, [](const Expected& fact) { return fact.key(); });
  return expected;
}

}  // namespace plumbline::judging
