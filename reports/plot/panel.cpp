// SPDX-License-Identifier: BSD-3-Clause
#include "reports/plot/panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/plot/marks.hpp"
#include "reports/plot/svg.hpp"

namespace plumbline::plot {
namespace {

constexpr std::string_view faint = " stroke=\"currentColor\" stroke-width=\"0.7\" stroke-opacity=\"0.18\"";
constexpr std::string_view outline = " fill=\"none\" stroke=\"currentColor\" stroke-width=\"1\"";
constexpr double tick_length = 4;
/// Average width of a letter of 12 pixels: no font is available to measure.
constexpr double letter_width = 6.6;
constexpr double legend_row = 18;

std::string rotated_label(double x, double y, const std::string& text) {
  return label(x, y, text,
               fmt::format(" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y)));
}

/// The place of each entry, from the legend's upper left corner.
std::vector<Point> legend_places(double width, const std::vector<LegendEntry>& entries) {
  std::vector<Point> places;
  Point next;
  for (const LegendEntry& entry : entries) {
    const double wide = 24 + 6 + letter_width * static_cast<double>(entry.text.size()) + 18;
    if (next.x > 0 && next.x + wide > width) next = {0, next.y + legend_row};
    places.push_back(next);
    next.x += wide;
  }
  return places;
}

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
  const std::vector<Point> places = legend_places(width, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    svg += fmt::format("<g transform=\"translate({} {})\">{}{}</g>\n", coordinate(x + places[i].x),
                       coordinate(y + places[i].y), entries[i].mark, label(30, 10, entries[i].text));
  }
  return svg;
}

double legend_height(double width, const std::vector<LegendEntry>& entries) {
  return entries.empty() ? 0 : legend_places(width, entries).back().y + legend_row;
}

}  // namespace plumbline::plot
