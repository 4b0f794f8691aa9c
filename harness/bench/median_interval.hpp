// SPDX-License-Identifier: BSD-3-Clause
// A median with the order statistics that hold it.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/bench/bench_result.hpp"

namespace plumbline {

/// Which order statistics, counted from both ends, hold the median of `count` values with 95 %, and how surely they do:
/// the smallest and the largest of few values hold it less surely (five: 93.75 %). By the binomial distribution;
/// nothing is assumed of the values but that none depends on another.
struct OrderStatistics {
  std::size_t from_end = 0;
  double coverage = 0;
};
OrderStatistics order_statistics_of_median(std::size_t count);

/// At least one value.
MedianInterval median_interval(std::vector<double> values);

}  // namespace plumbline
