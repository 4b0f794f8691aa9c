#include "reports/gradient_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"

namespace plumbline {
namespace {

std::map<std::pair<std::int64_t, std::string>, double> gradient_norms(const Record& record) {
  std::map<std::pair<std::int64_t, std::string>, double> norms;
  for (const RankRecord& rank : record.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind == "gradient") norms[{row.step, row.name}] = row.l2;
    }
  }
  return norms;
}

std::string power_text(double exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", std::pow(2.0, exponent));
  return text;
}

/// In powers of two; a ratio of 0 stands on the axis' lower end.
plot::Axis ratio_axis(const std::vector<NamedRatios>& runs) {
  double low = -1, high = 1;
  for (const NamedRatios& run : runs) {
    for (const GradientRatio& ratio : run.ratios.parameters) {
      if (ratio.low > 0) low = std::min(low, std::floor(std::log2(ratio.low)));
      high = std::max(high, std::ceil(std::log2(std::max(ratio.high, 1.0))));
    }
  }
  low = std::max(low, -24.0) - 0.5;
  high = std::min(high, 24.0) + 0.5;
  plot::Axis axis{low, high, {}, "norm / reference's"};
  for (const plot::Tick& tick : plot::whole_ticks(low, high, 7)) axis.ticks.push_back({tick.at, power_text(tick.at)});
  return axis;
}

}  // namespace

bool GradientRatios::all_one() const {
  return std::ranges::all_of(parameters, [](const GradientRatio& each) { return each.low == 1 && each.high == 1; });
}

GradientRatios gradient_ratios(const Record& reference, const Record& candidate) {
  const auto norms = gradient_norms(reference);
  GradientRatios found;
  std::map<std::string, std::size_t> places;
  for (const RankRecord& rank : candidate.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind != "gradient") continue;
      const auto alone = norms.find({row.step, row.name});
      if (alone == norms.end() || !std::isfinite(row.l2) || !std::isfinite(alone->second) || alone->second == 0)
        continue;
      const double ratio = row.l2 / alone->second;
      ++found.compared;
      const auto [at, fresh] = places.emplace(row.name, found.parameters.size());
      if (fresh) {
        found.parameters.push_back({row.name, ratio, ratio});
        continue;
      }
      GradientRatio& range = found.parameters[at->second];
      range.low = std::min(range.low, ratio);
      range.high = std::max(range.high, ratio);
    }
  }
  return found;
}

std::string draw_gradient_ratios(const std::vector<NamedRatios>& runs, const std::string& title) {
  std::map<std::string, std::size_t> places;
  for (const NamedRatios& run : runs) {
    for (const GradientRatio& ratio : run.ratios.parameters) places.emplace(ratio.parameter, places.size());
  }
  const auto count = static_cast<double>(std::max<std::size_t>(places.size(), 1));
  const plot::Panel panel({70, 16, 960, 216},
                          {-0.5, count - 0.5, plot::whole_ticks(0, count - 1, 12), "parameter, in the records' order"},
                          ratio_axis(runs));
  const double floor = panel.frame().bottom;
  const auto height = [&](double ratio) {
    return ratio > 0 ? std::clamp(panel.y(std::log2(ratio)), panel.frame().top, floor) : floor;
  };
  std::string body = panel.draw_axes();
  body += plot::line(panel.frame().left, height(1), panel.frame().right, height(1),
                     " stroke=\"currentColor\" stroke-dasharray=\"4 3\"");
  std::vector<plot::LegendEntry> legend;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<plot::Point> points;
    for (const GradientRatio& ratio : runs[i].ratios.parameters) {
      const double x = panel.x(static_cast<double>(places.at(ratio.parameter)));
      points.push_back({x, height(ratio.low)});
      points.push_back({x, height(ratio.high)});
    }
    body += plot::draw_points(i, points);
    legend.push_back({plot::draw_points(i, {{12, 6}}), runs[i].label});
  }
  body += plot::draw_legend(70, 266, 890, legend);
  return plot::picture(980, 290 + 18 * static_cast<double>(runs.size() / 4), title, body);
}

}  // namespace plumbline
