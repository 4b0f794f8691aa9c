// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumbline::plot {
namespace {

std::vector<Tick> ticks(double low, double high, int most, double least_step) {
  std::vector<Tick> found;
  if (!std::isfinite(low) || !std::isfinite(high) || !(high > low) || most < 1) return found;
  const double rough = std::max((high - low) / most, least_step);
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    // With a tolerance, because (high - low) / most is rounded.
    if (step >= rough * (1 - 1e-9)) break;
  }
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  const bool plain = decimals <= 6 && std::max(std::fabs(low), std::fabs(high)) < 1e7;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    const double at = i == 0 ? 0 : i * step;
    found.push_back({at, plain ? fmt::format("{:.{}f}", at, decimals) : fmt::format("{:.6g}", at)});
    if (found.size() > static_cast<std::size_t>(most) + 1) break;  // so far from 0 that the step is below one ULP
  }
  return found;
}

}  // namespace

std::vector<Tick> round_ticks(double low, double high, int most) {
  return ticks(low, high, most, 0);
}

std::vector<Tick> whole_ticks(double low, double high, int most) {
  return ticks(low, high, most, 1);
}

}  // namespace plumbline::plot
