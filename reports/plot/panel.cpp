// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/panel.hpp"

#include <fmt/format.h>

#include "reports/plot/svg.hpp"

namespace plumbline::plot {
namespace {

constexpr std::string_view faint = " stroke=\"currentColor\" stroke-width=\"0.7\" stroke-opacity=\"0.18\"";
constexpr std::string_view outline = " fill=\"none\" stroke=\"currentColor\" stroke-width=\"1\"";
constexpr double tick_length = 4;
/// Average width of a letter of 12 pixels: no font is available to measure.
constexpr double letter_width = 6.6;

std::string rotated_label(double x, double y, const std::string& text) {
  return label(x, y, text,
               fmt::format(" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y)));
}

}  // namespace

double Panel::x(double value) const {
  return frame_.left + (value - x_.low) / (x_.high - x_.low) * (frame_.right - frame_.left);
}

double Panel::y(double value) const {
  return frame_.bottom - (value - y_.low) / (y_.high - y_.low) * (frame_.bottom - frame_.top);
}

std::string Panel::draw_axes(const std::string& title) const {
  std::string svg, grid;
  std::string axes =
      move_to(frame_.left, frame_.top) + "V" + coordinate(frame_.bottom) + "H" + coordinate(frame_.right);
  std::size_t longest = 0;
  for (const Tick& tick : y_.ticks) {
    const double at = y(tick.at);
    grid += move_to(frame_.left, at) + "H" + coordinate(frame_.right);
    axes += move_to(frame_.left - tick_length, at) + "h" + coordinate(tick_length);
    svg += label(frame_.left - tick_length - 3, at + 4, tick.text, " text-anchor=\"end\"");
    longest = std::max(longest, tick.text.size());
  }
  for (const Tick& tick : x_.ticks) {
    const double at = x(tick.at);
    axes += move_to(at, frame_.bottom) + "v" + coordinate(tick_length);
    if (!tick.text.empty()) svg += label(at, frame_.bottom + tick_length + 13, tick.text, " text-anchor=\"middle\"");
  }
  svg = path(grid, faint) + path(axes, outline) + svg;
  const double middle = (frame_.top + frame_.bottom) / 2;
  const double numbers = letter_width * static_cast<double>(longest) + tick_length + 3;
  if (!y_.label.empty()) svg += rotated_label(frame_.left - numbers - 10, middle, y_.label);
  if (!x_.label.empty())
    svg += label((frame_.left + frame_.right) / 2, frame_.bottom + 36, x_.label, " text-anchor=\"middle\"");
  if (!title.empty())
    svg +=
        label((frame_.left + frame_.right) / 2, frame_.top - 10, title, " text-anchor=\"middle\" font-weight=\"bold\"");
  return svg;
}

std::string draw_legend(double x, double y, double width, const std::vector<LegendEntry>& entries) {
  std::string svg;
  double across = 0;
  for (const LegendEntry& entry : entries) {
    const double wide = 24 + 6 + letter_width * static_cast<double>(entry.text.size()) + 18;
    if (across > 0 && across + wide > width) {
      across = 0;
      y += 18;
    }
    svg += fmt::format("<g transform=\"translate({} {})\">{}{}</g>\n", coordinate(x + across), coordinate(y),
                       entry.mark, label(30, 10, entry.text));
    across += wide;
  }
  return svg;
}

}  // namespace plumbline::plot
