#include "harness/history/speed_plot.hpp"

#include <algorithm>
#include <cmath>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

constexpr double width = 1000, height = 300;
constexpr std::size_t most_marked = 400;  ///< above, a line stands for the points: marks would cover each other
constexpr std::size_t most_dates = 7;

constexpr std::string_view interval_look = " stroke=\"#888888\" stroke-width=\"1.4\"";
constexpr std::string_view level_look = " stroke=\"#D55E00\" stroke-width=\"2.5\"";
constexpr std::string_view change_look = " stroke=\"#D55E00\" stroke-width=\"1.4\" stroke-dasharray=\"5 4\"";

plot::Axis time_axis(const RunSeries& series) {
  const std::size_t count = series.timed.size();
  plot::Axis axis{-0.5, static_cast<double>(count) - 0.5, {}, "point, in the order of time"};
  const std::size_t each = std::max<std::size_t>(1, (count + most_dates - 1) / most_dates);
  for (std::size_t i = 0; i < count; i += each)
    axis.ticks.push_back({static_cast<double>(i), series.timed[i]->taken.substr(0, 10)});
  return axis;
}

plot::Axis speed_axis(const RunSeries& series) {
  double low = HUGE_VAL, high = 0;
  for (const HistoryRow* row : series.timed) {
    low = std::min({low, row->speed->value, row->speed->low.value_or(HUGE_VAL)});
    high = std::max({high, row->speed->value, row->speed->high.value_or(0)});
  }
  const double margin = high > low ? 0.12 * (high - low) : 0.05 * high;
  low = std::max(0.0, low - margin);
  return {low, high + margin, plot::round_ticks(low, high + margin, 6), "tokens/s over the reference's"};
}

/// The level before the first change, between each two, and after the last.
std::string draw_levels(const RunSeries& series, const plot::Panel& panel) {
  std::string svg;
  const auto& changes = series.speed_changes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const LevelChange& change = changes[i];
    const double from = i == 0 ? 0 : static_cast<double>(changes[i - 1].first);
    const double to = i + 1 < changes.size() ? static_cast<double>(changes[i + 1].begin)
                                             : static_cast<double>(series.timed.size() - 1);
    const auto begin = static_cast<double>(change.begin), first = static_cast<double>(change.first);
    if (change.kind == LevelChange::Kind::drift) {
      svg += plot::line(panel.x(begin), panel.y(change.before), panel.x(first), panel.y(change.after), level_look);
      continue;
    }
    if (i == 0)
      svg += plot::line(panel.x(from), panel.y(change.before), panel.x(begin), panel.y(change.before), level_look);
    svg += plot::line(panel.x(first), panel.y(change.after), panel.x(to), panel.y(change.after), level_look);
    const double at = panel.x(first - 0.5);
    svg += plot::line(at, panel.frame().top, at, panel.frame().bottom, change_look);
    const HistoryRow& now = *series.timed[change.first];
    const bool left = at > (panel.frame().left + panel.frame().right) / 2;
    svg += plot::label(at + (left ? -5 : 5), panel.frame().top + 12 + 14 * static_cast<double>(i % 3),
                       percent_text(change.size()) + " at " + (now.commit.empty() ? now.taken : now.commit),
                       left ? " text-anchor=\"end\"" : "");
  }
  return svg;
}

}  // namespace

std::string draw_speeds(const RunSeries& series) {
  if (series.timed.empty()) return "";
  const plot::Panel panel({80, 24, width - 20, height - 46}, time_axis(series), speed_axis(series));
  std::string svg = panel.draw_axes();
  std::vector<plot::Point> points;
  for (std::size_t i = 0; i < series.timed.size(); ++i) {
    const SpeedRatio& speed = *series.timed[i]->speed;
    const double x = panel.x(static_cast<double>(i));
    if (speed.low && series.timed.size() <= most_marked)
      svg += plot::line(x, panel.y(*speed.low), x, panel.y(*speed.high), interval_look);
    points.push_back({x, panel.y(speed.value)});
  }
  svg += series.timed.size() <= most_marked ? plot::draw_points(0, points) : plot::draw_line(0, points);
  svg += draw_levels(series, panel);
  return plot::picture(width, height,
                       "Speed of " + series.last().run + " over time, " +
                           count_text(std::ssize(series.speed_changes), "change") + " found",
                       svg);
}

}  // namespace plumbline
