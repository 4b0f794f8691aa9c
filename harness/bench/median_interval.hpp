// SPDX-License-Identifier: BSD-3-Clause
// Confidence interval of a median by order statistics.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/bench/bench_result.hpp"

namespace plumbline {

/// The order statistics, counted from both ends, that enclose the median of `count` values with 95 % confidence, and
/// the actual confidence: less for few values, whose smallest and largest are used (five: 93.75 %). Uses the binomial
/// distribution; assumes only independent values.
struct OrderStatistics {
  std::size_t from_end = 0;
  double coverage = 0;
};
OrderStatistics order_statistics_of_median(std::size_t count);

/// Requires at least one value.
MedianInterval median_interval(std::vector<double> values);

}  // namespace plumbline
