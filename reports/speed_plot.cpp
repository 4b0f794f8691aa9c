#include "reports/speed_plot.hpp"

#include <algorithm>
#include <functional>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"

namespace plumbline {
namespace {

constexpr std::string_view dashed = " stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
constexpr std::string_view dotted = " stroke=\"currentColor\" stroke-width=\"1\" stroke-dasharray=\"2 3\"";
constexpr double picture_width = 1000, panel_top = 66, panel_bottom = 256;

using Value = std::function<std::optional<double>(const SpeedPoint&)>;

double largest(const std::vector<SpeedSeries>& series, const std::vector<Value>& values) {
  double most = 0;
  for (const SpeedSeries& one : series)
    for (const SpeedPoint& point : one.points)
      for (const Value& value : values) most = std::max(most, value(point).value_or(0));
  return most;
}

std::int64_t largest_world(const std::vector<SpeedSeries>& series) {
  std::int64_t most = 1;
  for (const SpeedSeries& one : series)
    for (const SpeedPoint& point : one.points) most = std::max(most, point.world);
  return most;
}

std::vector<plot::Point> places(const plot::Panel& panel, const std::vector<SpeedSeries>& series, std::size_t number,
                                const Value& value) {
  std::vector<plot::Point> points;
  for (const SpeedPoint& point : series[number].points) {
    const auto at = value(point);
    if (at)
      points.push_back({panel.x(static_cast<double>(point.world) + plot::beside(number, series.size())), panel.y(*at)});
  }
  return points;
}

class Row {
 public:
  Row(const std::vector<SpeedSeries>& series, const std::optional<std::int64_t>& cores)
      : series_(series), worlds_(largest_world(series)), cores_(cores) {}

  /// `lines`: drawn as a line a series beside the signs; null for none.
  plot::Panel add(std::size_t place, double high, const std::string& label, const Value& signs, const Value& lines) {
    const double left = 72 + 332 * static_cast<double>(place);
    const auto last = static_cast<double>(worlds_) + 0.5;
    plot::Panel panel({left, panel_top, left + 252, panel_bottom},
                      {0.5, last, plot::whole_ticks(0.5, last, 8), "world size P"},
                      {0, high, plot::round_ticks(0, high, 6), label});
    svg_ += panel.draw_axes();
    if (cores_ && *cores_ < worlds_) {
      const double x = panel.x(static_cast<double>(*cores_) + 0.5);
      svg_ += plot::line(x, panel_top, x, panel_bottom, dotted);
    }
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (lines) svg_ += plot::draw_line(i, places(panel, series_, i, lines));
      svg_ += plot::draw_points(i, places(panel, series_, i, signs));
    }
    return panel;
  }

  std::string& svg() { return svg_; }

 private:
  const std::vector<SpeedSeries>& series_;
  std::int64_t worlds_;
  std::optional<std::int64_t> cores_;
  std::string svg_;
};

}  // namespace

std::string draw_speeds(const std::vector<SpeedSeries>& series, const std::optional<double>& reference_tokens_per_s,
                        const std::optional<std::int64_t>& cores, const std::string& title) {
  const Value speed = [](const SpeedPoint& point) { return std::optional(point.tokens_per_s); };
  const Value bubble = [](const SpeedPoint& point) {
    return point.bubble ? std::optional(100 * *point.bubble) : std::nullopt;
  };
  const Value planned = [](const SpeedPoint& point) {
    return point.planned_bubble ? std::optional(100 * *point.planned_bubble) : std::nullopt;
  };
  const Value recording = [](const SpeedPoint& point) {
    return point.recording ? std::optional(100 * *point.recording) : std::nullopt;
  };
  Row row(series, cores);
  const double fastest = std::max(largest(series, {speed}), reference_tokens_per_s.value_or(0));
  const plot::Panel speeds = row.add(0, 1.08 * std::max(fastest, 1e-9), "tokens/s", speed, nullptr);
  if (reference_tokens_per_s) {
    const double y = speeds.y(*reference_tokens_per_s);
    row.svg() += plot::line(speeds.frame().left, y, speeds.frame().right, y, dashed);
  }
  row.add(1, std::max(1.08 * largest(series, {bubble, planned}), 1.0), "bubble, % of a rank's span", bubble, planned);
  if (const double most = largest(series, {recording}); most > 0)
    row.add(2, std::max(1.08 * most, 1.0), "recording, % of a step", recording, nullptr);

  std::vector<plot::LegendEntry> legend;
  for (std::size_t i = 0; i < series.size(); ++i)
    legend.push_back({plot::draw_points(i, {{12, 6}}), series[i].schedule});
  if (reference_tokens_per_s) legend.push_back({plot::line(0, 6, 24, 6, dashed), "the reference"});
  if (cores && *cores < largest_world(series))
    legend.push_back({plot::line(12, 0, 12, 12, dotted), "to the right: more ranks than cores"});
  return plot::picture(picture_width, 310, title, row.svg() + plot::draw_legend(72, 6, picture_width - 90, legend));
}

}  // namespace plumbline
