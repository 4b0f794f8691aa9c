// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/facts/expected.hpp"

#include <algorithm>

namespace plumbline::judging {

Expectations expected_facts(const StepEvidence& now, Column column) {
  Expectations expected;
  switch (column) {
    case Column::forward:
    case Column::backward:
      expect_boundaries(now, column, expected);
      break;
    case Column::gradient:
    case Column::applied:
    case Column::parameter:
    case Column::copy:
    case Column::moment1:
    case Column::moment2:
    case Column::buffer:
      expect_tensors(now, column, expected);
      break;
    default:
      expect_scalars(now, column, expected);
  }
  std::ranges::stable_sort(expected, {}, [](const Expected& fact) { return fact.key(); });
  return expected;
}

}  // namespace plumbline::judging
