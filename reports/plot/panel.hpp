// SPDX-License-Identifier: BSD-3-Clause
// A pair of axes in a picture, and the places of values between them.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/axis.hpp"

namespace plumbline::plot {

/// The rectangle between the axes, in pixels of the picture, without ticks and labels.
struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
};

class Panel {
 public:
  Panel(Frame frame, Axis x, Axis y) : frame_(frame), x_(std::move(x)), y_(std::move(y)) {}

  double x(double value) const;
  double y(double value) const;
  const Frame& frame() const { return frame_; }

  /// Axes, ticks, labels, a horizontal line at each tick of y, and the title above.
  std::string draw_axes(const std::string& title = "") const;

 private:
  Frame frame_;
  Axis x_, y_;
};

/// What one mark means: `mark` draws it in a box of 24 x 12 pixels whose left upper corner is the origin.
struct LegendEntry {
  std::string mark;
  std::string text;
};

/// Entries in a row that begins at (x, y), wrapped at `width`.
std::string draw_legend(double x, double y, double width, const std::vector<LegendEntry>& entries);
/// Its height, with all its rows.
double legend_height(double width, const std::vector<LegendEntry>& entries);

}  // namespace plumbline::plot
