// SPDX-License-Identifier: BSD-3-Clause
#include "reports/memory_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"

namespace plumbline {
namespace {

struct ByteUnit {
  double bytes;
  const char* name;
};

ByteUnit unit_for(std::int64_t largest) {
  for (const ByteUnit unit :
       {ByteUnit{1024.0 * 1024 * 1024, "GiB"}, ByteUnit{1024.0 * 1024, "MiB"}, ByteUnit{1024.0, "KiB"}}) {
    if (static_cast<double>(largest) >= unit.bytes) return unit;
  }
  return {1, "bytes"};
}

constexpr std::string_view measured_look = " fill=\"#9cc3e0\" stroke=\"#1b3a5c\" stroke-width=\"0.8\"";
constexpr std::string_view law_look = " stroke=\"#d1580f\" stroke-width=\"3\"";
constexpr std::string_view reference_look = " stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";

/// A bar for each rank, all of one width; a gap between the groups of two world sizes.
struct Slot {
  double low, high;
};
Slot slot(double group, std::size_t rank) {
  const double low = group + static_cast<double>(rank);
  return {low + 0.06, low + 0.94};
}

/// Where each group begins, and the end of the axis, in bars.
std::vector<double> begins_of(const MemoryPanel& panel) {
  constexpr double gap = 1.5;
  std::vector<double> begins{gap / 2};
  for (const MemoryGroup& group : panel.groups)
    begins.push_back(begins.back() + static_cast<double>(group.ranks.size()) + gap);
  begins.back() -= gap / 2;
  return begins;
}

std::string bar(const plot::Panel& panel, const Slot& at, double from, double to, std::string_view look) {
  return plot::rectangle(panel.x(at.low), panel.y(to), panel.x(at.high) - panel.x(at.low), panel.y(from) - panel.y(to),
                         look);
}

plot::Axis group_axis(const MemoryPanel& panel) {
  const std::vector<double> begins = begins_of(panel);
  plot::Axis axis{0, begins.back(), {}, "world size P, one bar per rank"};
  for (std::size_t i = 0; i < panel.groups.size(); ++i) {
    const MemoryGroup& group = panel.groups[i];
    axis.ticks.push_back({begins[i] + static_cast<double>(group.ranks.size()) / 2, std::to_string(group.world)});
  }
  return axis;
}

plot::Axis byte_axis(const std::string& what, std::int64_t largest, const ByteUnit& unit) {
  const double high = 1.08 * static_cast<double>(std::max<std::int64_t>(largest, 1)) / unit.bytes;
  return {0, high, plot::round_ticks(0, high, 5), what.empty() ? "" : fmt::format("{} ({})", what, unit.name)};
}

std::string swatch(std::string_view look) {
  return plot::rectangle(4, 0, 16, 12, look);
}

std::string draw_panel(const MemoryPanel& drawn, const plot::Panel& panel, const ByteUnit& unit,
                       const std::optional<std::int64_t>& reference_peak) {
  std::string bars, laws;
  const std::vector<double> begins = begins_of(drawn);
  for (std::size_t group = 0; group < drawn.groups.size(); ++group) {
    const auto& ranks = drawn.groups[group].ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Slot at = slot(begins[group], rank);
      if (const auto bytes = ranks[rank].activation_bytes)
        bars += bar(panel, at, 0, static_cast<double>(*bytes) / unit.bytes, "");
      if (const auto bytes = ranks[rank].predicted_bytes) {
        const double y = panel.y(static_cast<double>(*bytes) / unit.bytes);
        laws += plot::move_to(panel.x(at.low), y) + "H" + plot::coordinate(panel.x(at.high));
      }
    }
  }
  // One attribute for all elements of a kind: there are hundreds on a page.
  if (!bars.empty()) bars = fmt::format("<g{}>\n{}</g>\n", measured_look, bars);
  if (!laws.empty()) laws = plot::path(laws, fmt::format(" fill=\"none\"{}", law_look));
  if (!reference_peak) return bars + laws;
  const double y = panel.y(static_cast<double>(*reference_peak) / unit.bytes);
  return bars + plot::line(panel.frame().left, y, panel.frame().right, y, reference_look) + laws;
}

}  // namespace

std::int64_t largest_activation(const std::vector<MemoryPanel>& panels,
                                const std::optional<std::int64_t>& reference_peak) {
  std::int64_t largest = reference_peak.value_or(0);
  for (const MemoryPanel& panel : panels) {
    for (const MemoryGroup& group : panel.groups) {
      for (const RankMemory& rank : group.ranks)
        largest = std::max({largest, rank.activation_bytes.value_or(0), rank.predicted_bytes.value_or(0)});
    }
  }
  return largest;
}

std::string draw_activations(const std::vector<MemoryPanel>& panels, const std::optional<std::int64_t>& reference_peak,
                             std::int64_t largest, const std::string& title) {
  constexpr double panel_height = 220, panel_width = 254, distance = 306;
  constexpr std::size_t in_a_row = 4;
  const bool predicted = std::ranges::any_of(panels, [](const MemoryPanel& panel) {
    return std::ranges::any_of(panel.groups, [](const MemoryGroup& group) {
      return std::ranges::any_of(group.ranks, [](const RankMemory& rank) { return rank.predicted_bytes.has_value(); });
    });
  });
  const ByteUnit unit = unit_for(largest);
  std::vector<plot::LegendEntry> legend{{swatch(measured_look), "measured"}};
  if (predicted) legend.push_back({plot::line(0, 6, 24, 6, law_look), "predicted from the reference"});
  if (reference_peak) legend.push_back({plot::line(0, 6, 24, 6, reference_look), "the reference on one device"});
  std::string svg = plot::draw_legend(70, 4, 900, legend);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = 70 + distance * static_cast<double>(i % in_a_row);
    const double top = 50 + panel_height * static_cast<double>(i / in_a_row);
    const plot::Panel panel({left, top, left + panel_width, top + 130}, group_axis(panels[i]),
                            byte_axis(i % in_a_row == 0 ? "peak activations" : "", largest, unit));
    svg += panel.draw_axes(panels[i].title) + draw_panel(panels[i], panel, unit, reference_peak);
  }
  const auto rows = static_cast<double>((panels.size() + in_a_row - 1) / in_a_row);
  return plot::picture(70 + distance * in_a_row - 40, 10 + panel_height * rows, title, svg);
}

}  // namespace plumbline
