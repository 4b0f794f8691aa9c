// SPDX-License-Identifier: BSD-3-Clause
#include "reports/loss_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"
#include "schedule/lowering.hpp"

namespace plumbline {
namespace {

/// Up to this many steps each world size has its own offset from the step, so that equal values do not hide each
/// other.
constexpr std::size_t most_dodged_steps = 24;
/// As shares of the distance between two steps: the width of the reference's bar, and the offsets on it. A
/// pipeline's point is on the bar exactly if it equals the reference.
constexpr double bar_share = 0.7;

constexpr std::string_view thin = " fill=\"none\" stroke=\"#b0b0b0\" stroke-width=\"1\"";
constexpr std::string_view thick = " fill=\"none\" stroke=\"#b0b0b0\" stroke-width=\"4\"";

double ulp(double value) {
  const auto single = static_cast<float>(std::fabs(value));
  return static_cast<double>(std::nextafter(single, HUGE_VALF)) - static_cast<double>(single);
}

std::set<std::int64_t> worlds_of(const std::vector<LossSeries>& series) {
  std::set<std::int64_t> worlds;
  for (const LossSeries& one : series) worlds.insert(one.world);
  return worlds;
}

/// Half the range of the axis of differences.
double half_range(const Losses& reference, const std::vector<LossSeries>& series) {
  double largest_loss = 0, largest = 0;
  for (const auto& [step, loss] : reference) {
    if (std::isfinite(loss)) largest_loss = std::max(largest_loss, std::fabs(static_cast<double>(loss)));
  }
  for (const LossSeries& one : series) largest = std::max(largest, loss_difference(reference, one).largest);
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

/// All runs of one world size, their losses and their differences.
struct WorldMarks {
  std::vector<plot::Point> losses, differences;  ///< of all runs
  std::set<std::string> loss_lines, difference_lines;
};

WorldMarks marks_of(std::int64_t world, std::size_t number, double shift, const Losses& reference,
                    const std::vector<LossSeries>& series, const plot::Panel& upper, const plot::Panel& lower) {
  WorldMarks marks;
  for (const LossSeries& one : series) {
    if (one.world != world) continue;
    std::vector<plot::Point> losses, differences;
    for (const auto& [step, loss] : one.losses) {
      const auto expected = reference.find(step);
      const double difference =
          expected == reference.end() ? NAN : static_cast<double>(loss) - static_cast<double>(expected->second);
      const double x = static_cast<double>(step) + shift;
      losses.push_back({upper.x(x), upper.y(static_cast<double>(loss))});
      differences.push_back({lower.x(x), lower.y(difference)});
    }
    marks.loss_lines.insert(plot::draw_line(number, losses));
    marks.difference_lines.insert(plot::draw_line(number, differences));
    marks.losses.insert(marks.losses.end(), losses.begin(), losses.end());
    marks.differences.insert(marks.differences.end(), differences.begin(), differences.end());
  }
  return marks;
}

}  // namespace

LossDifference loss_difference(const Losses& reference, const LossSeries& series) {
  LossDifference result;
  for (const auto& [step, loss] : series.losses) {
    const auto expected = reference.find(step);
    if (expected == reference.end()) continue;
    ++result.compared;
    if (!(loss == expected->second)) ++result.differing;
    const double difference = std::fabs(static_cast<double>(loss) - static_cast<double>(expected->second));
    if (std::isfinite(difference)) result.largest = std::max(result.largest, difference);
  }
  return result;
}

std::string draw_losses(const Losses& reference, const std::vector<LossSeries>& series, const std::string& title) {
  const std::set<std::int64_t> worlds = worlds_of(series);
  const bool dodged = reference.size() <= most_dodged_steps;
  const plot::Axis steps = step_axis(reference);
  plot::Axis unnamed_steps = steps;
  unnamed_steps.label.clear();
  for (plot::Tick& tick : unnamed_steps.ticks) tick.text.clear();
  const plot::Panel upper({90, 50, 985, 232}, unnamed_steps, loss_axis(reference, series));
  const plot::Panel lower({90, 256, 985, 372}, steps, difference_axis(half_range(reference, series)));
  std::string svg = upper.draw_axes() + lower.draw_axes();
  svg += draw_reference(upper, reference, dodged);
  svg += plot::line(lower.frame().left, lower.y(0), lower.frame().right, lower.y(0),
                    " stroke=\"#b0b0b0\" stroke-width=\"3\"");
  std::vector<plot::LegendEntry> legend{{plot::line(0, 6, 24, 6, thick), "reference"}};
  std::size_t number = 0;
  for (const std::int64_t world : worlds) {
    const double place = static_cast<double>(number + 1) / static_cast<double>(worlds.size() + 1) - 0.5;
    const WorldMarks marks = marks_of(world, number, dodged ? bar_share * place : 0, reference, series, upper, lower);
    std::string mark;
    if (dodged) {
      svg += plot::draw_points(number, marks.losses) + plot::draw_points(number, marks.differences);
      mark = plot::draw_points(number, {{12, 6}});
    } else {
      for (const std::string& one : marks.loss_lines) svg += one;
      for (const std::string& one : marks.difference_lines) svg += one;
      mark = plot::draw_line(number, {{0, 6}, {24, 6}});
    }
    legend.push_back({mark, fmt::format("P = {}", world)});
    ++number;
  }
  svg += plot::draw_legend(90, 8, 895, legend);
  return plot::picture(1000, 420, title, svg);
}

}  // namespace plumbline
