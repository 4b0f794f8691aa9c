// SPDX-License-Identifier: BSD-3-Clause
// Points and lines of several series, which differ in colour and, for black and white, in shape or dashes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumbline::plot {

struct Point {
  double x = 0;
  double y = 0;  ///< pixels; nothing is drawn if it is not finite
};

/// The offset on the x axis of series number `series` of `count`, so that none hides another: within
/// 0.3 to either side.
double beside(std::size_t series, std::size_t count);

/// Points of series number `series`; after eight the marks repeat. Coinciding points are drawn once.
std::string draw_points(std::size_t series, const std::vector<Point>& points);

/// A line through the points, with a gap at each that is not finite. Points on a level line between their neighbours
/// are omitted, which does not change the line.
std::string draw_line(std::size_t series, const std::vector<Point>& points);

}  // namespace plumbline::plot
