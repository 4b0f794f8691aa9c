// The speeds of one run over time, drawn, with the levels between which they changed.
#pragma once

#include <string>

#include "harness/history/series.hpp"

namespace plumbline {

/// SVG. Across: the points in the order of time, dated; a vertical bar through a point is its interval. A series
/// without a speed has no picture: empty.
std::string draw_speeds(const RunSeries& series);

}  // namespace plumbline
