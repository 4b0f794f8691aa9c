// SPDX-License-Identifier: BSD-3-Clause
// A pair of axes in a picture with their ticks, and the places of values between them.
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
