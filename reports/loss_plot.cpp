// SPDX-License-Identifier: BSD-3-Clause
#include "reports/loss_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"
#include "schedule/lowering.hpp"

namespace plumbline {
namespace {

/// Up to this many steps each series has its own offset from the step, so that equal values do not hide each
/// other.
constexpr std::size_t most_dodged_steps = 24;
/// As shares of the distance between two steps: the width of the reference's bar, and the offsets on it. A
/// pipeline's point is on the bar exactly if it equals the reference.
constexpr double bar_share = 0.7;

constexpr std::string_view thin = " fill=\"none\" stroke=\"#949494\" stroke-width=\"1\"";
constexpr std::string_view thick = " fill=\"none\" stroke=\"#949494\" stroke-width=\"4\"";

double ulp(double value) {
  const auto single = static_cast<float>(std::fabs(value));
  return static_cast<double>(std::nextafter(single, HUGE_VALF)) - static_cast<double>(single);
}

/// Half the range of the axis of differences.
double half_range(const Losses& reference, const std::vector<LossSeries>& series) {
  double largest_loss = 0, largest = 0;
  for (const auto& [step, loss] : reference) {
    if (std::isfinite(loss)) largest_loss = std::max(largest_loss, std::fabs(static_cast<double>(loss)));
  }
  for (const LossSeries& one : series) largest = std::max(largest, loss_difference(reference, one.losses).largest);
  return std::max(1.15 * largest, 2.5 * ulp(largest_loss));
}

plot::Axis step_axis(const Losses& reference) {
  const auto first = static_cast<double>(reference.empty() ? 0 : reference.begin()->first);
  const auto last = static_cast<double>(reference.empty() ? 1 : reference.rbegin()->first);
  return {first - 0.5, last + 0.5, plot::whole_ticks(first, std::max(last, first + 1), 14), "step"};
}

plot::Axis loss_axis(const Losses& reference, const std::vector<LossSeries>& series) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  const auto take = [&](const Losses& losses) {
    for (const auto& [step, loss] : losses) {
      if (!std::isfinite(loss)) continue;
      low = std::min(low, static_cast<double>(loss));
      high = std::max(high, static_cast<double>(loss));
    }
  };
  take(reference);
  for (const LossSeries& one : series) take(one.losses);
  if (!(low <= high)) low = high = 0;
  const double margin = high > low ? 0.06 * (high - low) : std::max(0.05 * std::fabs(high), 1e-3);
  return {low - margin, high + margin, plot::round_ticks(low - margin, high + margin, 6), "loss (nats)"};
}

plot::Axis difference_axis(double half) {
  plot::Axis axis{-half, half, {}, "difference"};
  for (const double at : {-0.8 * half, 0.0, 0.8 * half})
    axis.ticks.push_back({at, at == 0 ? fmt::format("{:g}", at) : fmt::format("{:.1e}", at)});
  return axis;
}

std::string draw_reference(const plot::Panel& panel, const Losses& reference, bool dodged) {
  std::string curve, bars;
  bool pen_down = false;
  for (const auto& [step, loss] : reference) {
    const auto x = static_cast<double>(step);
    const double y = panel.y(static_cast<double>(loss));
    if (!std::isfinite(y)) {
      pen_down = false;
      continue;
    }
    curve += (pen_down ? "L" : "M") + plot::coordinate(panel.x(x)) + " " + plot::coordinate(y);
    pen_down = true;
    bars += plot::move_to(panel.x(x - bar_share / 2), y) + "H" + plot::coordinate(panel.x(x + bar_share / 2));
  }
  if (curve.empty()) return "";
  return dodged ? plot::path(curve, thin) + plot::path(bars, thick) : plot::path(curve, thick);
}

struct SeriesPoints {
  std::vector<plot::Point> losses, differences;
};

SeriesPoints points_of(const LossSeries& series, double shift, const Losses& reference, const plot::Panel& upper,
                       const plot::Panel& lower) {
  SeriesPoints points;
  for (const auto& [step, loss] : series.losses) {
    const auto expected = reference.find(step);
    const double difference =
        expected == reference.end() ? NAN : static_cast<double>(loss) - static_cast<double>(expected->second);
    const double x = static_cast<double>(step) + shift;
    points.losses.push_back({upper.x(x), upper.y(static_cast<double>(loss))});
    points.differences.push_back({lower.x(x), lower.y(difference)});
  }
  return points;
}

}  // namespace

LossDifference loss_difference(const Losses& reference, const Losses& losses) {
  LossDifference result;
  for (const auto& [step, loss] : losses) {
    const auto expected = reference.find(step);
    if (expected == reference.end()) continue;
    ++result.compared;
    if (!(loss == expected->second)) ++result.differing;
    const double difference = std::fabs(static_cast<double>(loss) - static_cast<double>(expected->second));
    if (std::isfinite(difference)) result.largest = std::max(result.largest, difference);
  }
  return result;
}

std::string draw_losses(const Losses& reference, const std::vector<LossSeries>& series, const std::string& title,
                        const std::string& reference_label) {
  const bool dodged = reference.size() <= most_dodged_steps;
  const auto mark = [&](std::size_t number, const std::vector<plot::Point>& points) {
    return dodged ? plot::draw_points(number, points) : plot::draw_line(number, points);
  };
  std::vector<plot::LegendEntry> legend{{plot::line(0, 6, 24, 6, thick), reference_label}};
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::vector<plot::Point> sample =
        dodged ? std::vector<plot::Point>{{12, 6}} : std::vector<plot::Point>{{0, 6}, {24, 6}};
    legend.push_back({mark(i, sample), series[i].label});
  }
  constexpr double legend_width = 895, room_for_legend = 36;
  const double down = std::max(0.0, plot::legend_height(legend_width, legend) - room_for_legend);
  const plot::Axis steps = step_axis(reference);
  plot::Axis unnamed_steps = steps;
  unnamed_steps.label.clear();
  for (plot::Tick& tick : unnamed_steps.ticks) tick.text.clear();
  const plot::Panel upper({90, 50 + down, 985, 232 + down}, unnamed_steps, loss_axis(reference, series));
  const plot::Panel lower({90, 256 + down, 985, 372 + down}, steps, difference_axis(half_range(reference, series)));
  std::string svg = upper.draw_axes() + lower.draw_axes();
  svg += draw_reference(upper, reference, dodged);
  svg += plot::line(lower.frame().left, lower.y(0), lower.frame().right, lower.y(0),
                    " stroke=\"#949494\" stroke-width=\"3\"");
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double place = static_cast<double>(i + 1) / static_cast<double>(series.size() + 1) - 0.5;
    const SeriesPoints points = points_of(series[i], dodged ? bar_share * place : 0, reference, upper, lower);
    svg += mark(i, points.losses) + mark(i, points.differences);
  }
  svg += plot::draw_legend(90, 8, legend_width, legend);
  return plot::picture(1000, 420 + down, title, svg);
}

}  // namespace plumbline
