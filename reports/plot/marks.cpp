// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/marks.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "reports/plot/svg.hpp"

namespace plumbline::plot {
namespace {

/// Colors that color-blind readers can distinguish (Okabe and Ito 2008), on white and on black.
constexpr std::array colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#888888", "#7A5195"};

/// Outlines around the current point, as relative path commands; not filled, so marks below remain visible.
constexpr std::array shapes{
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",  // circle
    "m-3.2 -3.2h6.4v6.4h-6.4z",                      // square
    "m0 -4l3.7 6.4h-7.4z",                           // triangle
    "m0 4l3.7 -6.4h-7.4z",                           // triangle, upside down
    "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",           // diamond
    "m-4 0h8m-4 -4v8",                               // plus
    "m-3.2 -3.2l6.4 6.4m0 -6.4l-6.4 6.4",            // cross
    "m-4 0h8m-6 -3.5l4 7m0 -7l-4 7",                 // star
};

constexpr std::array dashes{"", "7 3", "2 2.5", "9 3 2 3", "5 5", "12 4", "2 6", "9 3 2 3 2 3"};

std::string place(const Point& point) {
  return coordinate(point.x) + " " + coordinate(point.y);
}

bool finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

std::string look(std::size_t series, double width) {
  return fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", colors[series % colors.size()],
                     coordinate(width));
}

}  // namespace

std::string draw_points(std::size_t series, const std::vector<Point>& points) {
  std::set<std::string> drawn;
  std::string data;
  for (const Point& point : points) {
    if (!finite(point)) continue;
    const std::string at = place(point);
    if (!drawn.insert(at).second) continue;
    data += "M" + at + shapes[series % shapes.size()];
  }
  return data.empty() ? "" : path(data, look(series, 1.4));
}

std::string draw_line(std::size_t series, const std::vector<Point>& points) {
  std::string data;
  bool pen_down = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!finite(points[i])) {
      pen_down = false;
      continue;
    }
    const bool level = pen_down && i + 1 < points.size() && finite(points[i + 1]) && points[i - 1].y == points[i].y &&
                       points[i + 1].y == points[i].y;
    if (level) continue;
    data += (pen_down ? "L" : "M") + place(points[i]);
    pen_down = true;
  }
  const std::string dash = dashes[series % dashes.size()];
  return data.empty()
             ? ""
             : path(data, look(series, 1.5) + (dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash)));
}

}  // namespace plumbline::plot
