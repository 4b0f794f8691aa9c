// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/median_interval.hpp"

#include <algorithm>
#include <cmath>

namespace plumbline {

OrderStatistics order_statistics_of_median(std::size_t count) {
  constexpr double wanted = 0.95;
  // Probability that the median is outside: twice the lower tail, at k - 1, of `count` tosses of a fair coin.
  double term = std::pow(0.5, static_cast<double>(count)), tail = 0;
  OrderStatistics best{0, count < 2 ? 0 : 1 - 2 * term};
  for (std::size_t k = 0; 2 * (k + 1) <= count; ++k) {
    tail += term;
    if (1 - 2 * tail < wanted) break;
    best = {k, 1 - 2 * tail};
    term *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  return best;
}

MedianInterval median_interval(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t count = values.size(), outer = order_statistics_of_median(count).from_end;
  const double median = count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
  return {median, values[outer], values[count - 1 - outer]};
}

}  // namespace plumbline
