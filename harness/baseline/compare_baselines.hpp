// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two baselines of one sweep.
#pragma once

#include "harness/baseline/baseline.hpp"
#include "harness/baseline/baseline_comparison.hpp"

namespace plumbline {

/// Compares bits if both have the same code path and request, and bytes if they have the same request.
BaselineComparison compare_baselines(const Baseline& before, const Baseline& now);

}  // namespace plumbline
