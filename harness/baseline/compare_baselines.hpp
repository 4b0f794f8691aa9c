// SPDX-License-Identifier: BSD-3-Clause
// Two baselines of one sweep, held against each other.
#pragma once

#include "harness/baseline/baseline.hpp"
#include "harness/baseline/baseline_comparison.hpp"

namespace plumbline {

/// Bits are compared where both were computed on the same code path and asked for the same, bytes wherever the same was
/// asked for.
BaselineComparison compare_baselines(const Baseline& before, const Baseline& now);

}  // namespace plumbline
