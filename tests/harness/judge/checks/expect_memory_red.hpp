// SPDX-License-Identifier: BSD-3-Clause
// Common code of tests of bytes.
#pragma once

#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// Judges the case, expects only the check "memory" to fail, and returns the place.
inline Finding expect_memory_red(SyntheticCell& cell) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ::testing::ElementsAre("memory"));
  return verdict.first_divergence.value_or(Finding{});
}

}  // namespace plumbline::testing
