// SPDX-License-Identifier: BSD-3-Clause
// Points and lines of several series, which differ in color and, for black and white, in shape or dashes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumbline::plot {

struct Point {
  double x = 0;
  double y = 0;  ///< pixels; nothing is drawn if it is not finite
};

/// Points of series number `series`; after eight the marks repeat. Coinciding points are drawn once.
std::string draw_points(std::size_t series, const std::vector<Point>& points);

/// A line through the points, with a gap at each that is not finite. Points on a level line between their neighbors
/// are omitted, which does not change the line.
std::string draw_line(std::size_t series, const std::vector<Point>& points);

}  // namespace plumbline::plot
