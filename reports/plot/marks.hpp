// SPDX-License-Identifier: BSD-3-Clause
// Points and lines of several series, told apart by colour and, in black and white, by shape or dashes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumbline::plot {

struct Point {
  double x = 0;
  double y = 0;  ///< pixels; where it is no finite number nothing is drawn
};

/// How far from its place on the x axis series number `series` of `count` stands, so that none hides another: within
/// 0.3 to either side.
double beside(std::size_t series, std::size_t count);

/// Of series number `series`; after eight they repeat. Points that lie on each other are drawn once.
std::string draw_points(std::size_t series, const std::vector<Point>& points);

/// A line through the points, with a gap where one is not finite. Points on a level line between their neighbours are
/// left out: the line is the same without.
std::string draw_line(std::size_t series, const std::vector<Point>& points);

}  // namespace plumbline::plot
