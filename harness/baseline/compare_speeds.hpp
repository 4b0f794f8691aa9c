// The speeds of two baselines, held against each other.
#pragma once

#include <optional>

#include "harness/baseline/baseline_comparison.hpp"
#include "harness/baseline/speeds.hpp"

namespace plumbline {

/// Adds to `result` what changed, what was compared and what was not, and why.
void compare_speeds(const std::optional<Speeds>& before, const std::optional<Speeds>& now, BaselineComparison& result);

}  // namespace plumbline
