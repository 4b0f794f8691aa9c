// SPDX-License-Identifier: BSD-3-Clause
// What the tests of bytes have in common.
#pragma once

#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// Judges the cell, expects that the check "memory" fails and no other, and gives where.
inline FirstDivergence expect_memory_red(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ::testing::ElementsAre("memory"));
  return verdict.first_divergence.value_or(FirstDivergence{});
}

}  // namespace plumbline::testing
