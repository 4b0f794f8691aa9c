// SPDX-License-Identifier: BSD-3-Clause
// One axis of a plot: its range and ticks.
#pragma once

#include <string>
#include <vector>

namespace plumbline::plot {

struct Tick {
  double at = 0;
  std::string text;
};

struct Axis {
  double low = 0;
  double high = 1;  ///< above `low`
  std::vector<Tick> ticks;
  std::string label;  ///< what is drawn, with its unit
};

/// Multiples of 1, 2 or 5 times a power of ten in [low, high]: as many as possible, at most `most`.
/// Written with the digits that distinguish them. None for a range that is empty or not finite.
std::vector<Tick> round_ticks(double low, double high, int most);

/// The same, only whole numbers.
std::vector<Tick> whole_ticks(double low, double high, int most);

}  // namespace plumbline::plot
