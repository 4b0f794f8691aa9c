#include "reports/memory_plot.hpp"

#include <algorithm>
#include <array>

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
constexpr std::string_view law_look = " stroke=\"#B33A00\" stroke-width=\"3\"";
constexpr std::string_view reference_look = " stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";

/// The ranks of a group stand side by side around the group's place on the x axis.
struct Slot {
  double low, high;
};
Slot slot(std::size_t group, std::size_t rank, std::size_t ranks) {
  constexpr double share = 0.84;  // of the distance between two groups
  const double wide = share / static_cast<double>(ranks);
  const double low = static_cast<double>(group) - share / 2 + wide * static_cast<double>(rank);
  return {low + 0.06 * wide, low + 0.94 * wide};
}

std::string bar(const plot::Panel& panel, const Slot& at, double from, double to, std::string_view look) {
  return plot::rectangle(panel.x(at.low), panel.y(to), panel.x(at.high) - panel.x(at.low), panel.y(from) - panel.y(to),
                         look);
}

plot::Axis group_axis(const std::vector<std::string>& names) {
  plot::Axis axis{-0.6, static_cast<double>(names.size()) - 0.4, {}, "world size P, one bar a rank"};
  for (std::size_t i = 0; i < names.size(); ++i) axis.ticks.push_back({static_cast<double>(i), names[i]});
  return axis;
}

plot::Axis byte_axis(const std::string& what, std::int64_t largest, const ByteUnit& unit) {
  const double high = 1.08 * static_cast<double>(std::max<std::int64_t>(largest, 1)) / unit.bytes;
  return {0, high, plot::round_ticks(0, high, 6), what + " (" + unit.name + ")"};
}

std::string swatch(std::string_view look) {
  return plot::rectangle(4, 0, 16, 12, look);
}

std::string draw_panel(const MemoryPanel& drawn, const plot::Panel& panel, const ByteUnit& unit,
                       const std::optional<std::int64_t>& reference_peak) {
  std::string bars, laws;
  for (std::size_t group = 0; group < drawn.groups.size(); ++group) {
    const auto& ranks = drawn.groups[group].ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Slot at = slot(group, rank, ranks.size());
      if (const auto bytes = ranks[rank].activation_bytes)
        bars += bar(panel, at, 0, static_cast<double>(*bytes) / unit.bytes, "");
      if (const auto bytes = ranks[rank].predicted_bytes) {
        const double y = panel.y(static_cast<double>(*bytes) / unit.bytes);
        laws += "M" + plot::coordinate(panel.x(at.low)) + " " + plot::coordinate(y) + "H" +
                plot::coordinate(panel.x(at.high));
      }
    }
  }
  // The look is said once for all of a kind: there are hundreds on a page.
  if (!bars.empty()) bars = std::string("<g").append(measured_look) + ">\n" + bars + "</g>\n";
  if (!laws.empty()) laws = plot::path(laws, std::string(" fill=\"none\"").append(law_look));
  if (!reference_peak) return bars + laws;
  const double y = panel.y(static_cast<double>(*reference_peak) / unit.bytes);
  return bars + plot::line(panel.frame().left, y, panel.frame().right, y, reference_look) + laws;
}

}  // namespace

std::string draw_activations(const std::vector<MemoryPanel>& panels, const std::optional<std::int64_t>& reference_peak,
                             const std::string& title) {
  constexpr double panel_height = 290;
  std::int64_t largest = reference_peak.value_or(0);
  bool predicted = false;
  for (const MemoryPanel& panel : panels) {
    for (const MemoryGroup& group : panel.groups) {
      for (const RankMemory& rank : group.ranks) {
        largest = std::max({largest, rank.activation_bytes.value_or(0), rank.predicted_bytes.value_or(0)});
        predicted = predicted || rank.predicted_bytes;
      }
    }
  }
  const ByteUnit unit = unit_for(largest);
  std::vector<plot::LegendEntry> legend{{swatch(measured_look), "measured"}};
  if (predicted) legend.push_back({plot::line(0, 6, 24, 6, law_look), "law"});
  if (reference_peak) legend.push_back({plot::line(0, 6, 24, 6, reference_look), "reference"});
  std::string svg = plot::draw_legend(80, 4, 900, legend);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = i % 2 == 0 ? 80 : 580;
    const double right = panels.size() == 1 ? 985 : left + 405;
    const double top = 50 + panel_height * static_cast<double>(i / 2);
    std::vector<std::string> names;
    for (const MemoryGroup& group : panels[i].groups) names.push_back(std::to_string(group.world));
    const plot::Panel panel({left, top, right, top + 190}, group_axis(names),
                            byte_axis("peak activations", largest, unit));
    svg += panel.draw_axes(panels[i].title) + draw_panel(panels[i], panel, unit, reference_peak);
  }
  const auto rows = static_cast<double>((panels.size() + 1) / 2);
  return plot::picture(1000, 10 + panel_height * rows, title, svg);
}

std::string draw_state(const std::vector<MemoryGroup>& groups, const RankMemory& reference, const std::string& title) {
  constexpr std::array parts{"parameters", "gradients", "optimiser state"};
  // Dark to light: told apart in black and white.
  constexpr std::array<std::string_view, 3> looks{" fill=\"#1b3a5c\" stroke=\"#1b3a5c\" stroke-width=\"0.8\"",
                                                  " fill=\"#6f9fc8\" stroke=\"#1b3a5c\" stroke-width=\"0.8\"",
                                                  " fill=\"#dbe8f3\" stroke=\"#1b3a5c\" stroke-width=\"0.8\""};
  const auto bytes_of = [](const RankMemory& rank) {
    return std::array{rank.parameter_bytes.value_or(0), rank.gradient_bytes.value_or(0),
                      rank.optimizer_bytes.value_or(0)};
  };
  std::vector<MemoryGroup> all{{.world = 0, .ranks = {reference}}};
  all.insert(all.end(), groups.begin(), groups.end());
  std::int64_t largest = 1;
  std::vector<std::string> names;
  for (const MemoryGroup& group : all) {
    names.push_back(names.empty() ? "ref." : std::to_string(group.world));
    for (const RankMemory& rank : group.ranks) {
      const auto bytes = bytes_of(rank);
      largest = std::max(largest, bytes[0] + bytes[1] + bytes[2]);
    }
  }
  const ByteUnit unit = unit_for(largest);
  const plot::Panel panel({80, 36, 985, 236}, group_axis(names), byte_axis("model state", largest, unit));
  std::string svg = panel.draw_axes();
  for (std::size_t group = 0; group < all.size(); ++group) {
    const auto& ranks = all[group].ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      double base = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const double top = base + static_cast<double>(bytes_of(ranks[rank])[i]) / unit.bytes;
        if (top > base) svg += bar(panel, slot(group, rank, ranks.size()), base, top, looks[i]);
        base = top;
      }
    }
  }
  std::vector<plot::LegendEntry> legend;
  for (std::size_t i = 0; i < parts.size(); ++i) legend.push_back({swatch(looks[i]), parts[i]});
  svg += plot::draw_legend(80, 4, 900, legend);
  return plot::picture(1000, 290, title, svg);
}

}  // namespace plumbline
