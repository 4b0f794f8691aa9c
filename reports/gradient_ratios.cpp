// SPDX-License-Identifier: BSD-3-Clause
#include "reports/gradient_ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

/// Ratio - 1 over powers of ten, on both sides of 0: from the smallest non-zero one to the largest.
class DeviationScale {
 public:
  explicit DeviationScale(const std::vector<NamedRatios>& runs) {
    double smallest = 1, largest = 0;
    for (const NamedRatios& run : runs) {
      for (const GradientRatio& ratio : run.ratios.parameters) {
        for (const double deviation : {std::fabs(ratio.low - 1), std::fabs(ratio.high - 1)}) {
          if (deviation > 0) smallest = std::min(smallest, deviation);
          largest = std::max(largest, deviation);
        }
      }
    }
    first_ = static_cast<int>(std::floor(std::log10(smallest)));
    last_ = static_cast<int>(std::ceil(std::log10(std::max(largest, smallest))));
  }

  /// 0 at 0, 1 at the first power.
  double place(double deviation) const {
    const double above = std::log10(std::fabs(deviation)) - first_ + 1;
    return deviation == 0 ? 0 : std::copysign(std::max(above, 0.0), deviation);
  }
  plot::Axis axis() const {
    const double end = last_ - first_ + 1.4;
    plot::Axis axis{-end, end, {{0, "0"}}, "norm / reference's - 1"};
    const int every = std::max(1, (last_ - first_) / 3);
    for (int power = last_; power >= first_; power -= every) {
      for (const double sign : {-1.0, 1.0})
        axis.ticks.push_back({sign * (power - first_ + 1), fmt::format("{:g}", sign * std::pow(10.0, power))});
    }
    return axis;
  }

 private:
  int first_ = 0, last_ = 0;
};

}  // namespace

bool GradientRatios::all_one() const {
  return std::ranges::all_of(parameters, [](const GradientRatio& each) { return each.low == 1 && each.high == 1; });
}

void GradientRatios::add(const Record& reference, const Record& candidate) {
  const auto norms = gradient_norms(reference);
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) places.emplace(parameters[i].parameter, i);
  for (const RankRecord& rank : candidate.ranks) {
    for (const TensorRow& row : rank.tensors) {
      if (row.kind != "gradient") continue;
      const auto alone = norms.find({row.step, row.name});
      if (alone == norms.end() || !std::isfinite(row.l2) || !std::isfinite(alone->second) || alone->second == 0)
        continue;
      const double ratio = row.l2 / alone->second;
      ++compared;
      const auto [at, fresh] = places.emplace(row.name, parameters.size());
      if (fresh) {
        parameters.push_back({row.name, ratio, ratio});
        continue;
      }
      GradientRatio& range = parameters[at->second];
      range.low = std::min(range.low, ratio);
      range.high = std::max(range.high, ratio);
    }
  }
}

std::string draw_gradient_ratios(const std::vector<NamedRatios>& runs, const std::string& title) {
  std::map<std::string, std::size_t> places;
  for (const NamedRatios& run : runs) {
    for (const GradientRatio& ratio : run.ratios.parameters) places.emplace(ratio.parameter, places.size());
  }
  const auto count = static_cast<double>(std::max<std::size_t>(places.size(), 1));
  const DeviationScale scale(runs);
  const plot::Panel panel({84, 16, 960, 216},
                          {-0.5, count - 0.5, plot::whole_ticks(0, count - 1, 12), "parameter, in the records' order"},
                          scale.axis());
  const auto height = [&](double ratio) { return panel.y(scale.place(ratio - 1)); };
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
  body += plot::draw_legend(84, 266, 890, legend);
  return plot::picture(980, 272 + plot::legend_height(890, legend), title, body);
}

}  // namespace plumbline
