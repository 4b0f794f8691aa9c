#include "harness/bench/bench_plots.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"

namespace plumbline {
namespace {

constexpr double width = 1000;
constexpr std::string_view error_bar = " stroke=\"#888888\" stroke-width=\"1.4\"";
constexpr std::string_view ideal = " stroke=\"#888888\" stroke-width=\"1.4\" stroke-dasharray=\"6 4\"";

std::vector<const BenchCell*> drawn_cells(const BenchResult& result, const BenchReference& reference, bool bubbles) {
  std::vector<const BenchCell*> cells;
  for (const BenchCell& cell : result.cells)
    if (cell.reference == reference.id && !cell.oversubscribed && (bubbles ? cell.bubble.has_value() : true))
      cells.push_back(&cell);
  return cells;
}

/// Each schedule's place among the series, in the order in which they appear.
std::map<std::string, std::size_t> numbered(const std::vector<const BenchCell*>& cells) {
  std::map<std::string, std::size_t> numbers;
  for (const BenchCell* cell : cells) numbers.emplace(cell->schedule, numbers.size());
  return numbers;
}

}  // namespace

std::string draw_efficiency(const BenchResult& result, const BenchReference& reference) {
  const auto cells = drawn_cells(result, reference, false);
  if (cells.empty()) return "";
  const auto numbers = numbered(cells);
  double most_world = 1, high = 1.05;
  for (const BenchCell* cell : cells) {
    most_world = std::max(most_world, static_cast<double>(cell->world));
    high = std::max(high, 1.05 * cell->efficiency->high);
  }
  const double legend_rows = 1 + static_cast<double>(numbers.size() / 6);
  const double top = 12 + 18 * legend_rows, height = top + 290;
  const plot::Panel panel(
      {80, top, width - 20, height - 48},
      {0.5, most_world + 0.5, plot::whole_ticks(0.5, most_world + 0.5, 16), "world size P (each rank a core)"},
      {0, high, plot::round_ticks(0, high, 6), "tokens/s over P times the reference's"});
  std::string svg =
      panel.draw_axes() + plot::line(panel.frame().left, panel.y(1), panel.frame().right, panel.y(1), ideal);
  std::vector<plot::LegendEntry> legend;
  for (const auto& [schedule, number] : numbers) {
    std::vector<plot::Point> points;
    for (const BenchCell* cell : cells) {
      if (cell->schedule != schedule) continue;
      const double x = panel.x(static_cast<double>(cell->world) + plot::beside(number, numbers.size()));
      svg += plot::line(x, panel.y(cell->efficiency->low), x, panel.y(cell->efficiency->high), error_bar);
      points.push_back({x, panel.y(cell->efficiency->median)});
    }
    svg += plot::draw_points(number, points);
    legend.push_back({plot::draw_points(number, {{12, 6}}), schedule});
  }
  legend.push_back({plot::line(0, 6, 24, 6, ideal), "P ranks P times as fast"});
  svg += plot::draw_legend(80, 6, width - 100, legend);
  return plot::picture(width, height, "Efficiency against world size, " + reference.id, svg);
}

std::string draw_bubbles(const BenchResult& result, const BenchReference& reference) {
  const auto cells = drawn_cells(result, reference, true);
  if (cells.empty()) return "";
  double high = 0.05;
  for (const BenchCell* cell : cells)
    high = std::max({high, 1.1 * cell->bubble->measured.high, 1.1 * cell->bubble->simulated,
                     1.1 * cell->bubble->closed_form.value_or(0)});
  const auto count = static_cast<double>(cells.size());
  plot::Axis across{-0.5, count - 0.5, {}, "schedule and world size"};
  for (std::size_t i = 0; i < cells.size(); ++i)
    across.ticks.push_back({static_cast<double>(i), cells[i]->schedule + ", " + std::to_string(cells[i]->world)});
  plot::Axis share{0, 100 * high, plot::round_ticks(0, 100 * high, 6), "bubble, % of a rank's span"};
  const plot::Panel panel({80, 34, width - 20, 280}, across, share);
  std::string svg = panel.draw_axes();
  std::vector<plot::Point> measured, simulated, closed_form;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const BenchBubble& bubble = *cells[i]->bubble;
    const auto x = [&](double beside) { return panel.x(static_cast<double>(i) + beside); };
    svg += plot::line(x(-0.2), panel.y(100 * bubble.measured.low), x(-0.2), panel.y(100 * bubble.measured.high),
                      error_bar);
    measured.push_back({x(-0.2), panel.y(100 * bubble.measured.median)});
    simulated.push_back({x(0), panel.y(100 * bubble.simulated)});
    if (bubble.closed_form) closed_form.push_back({x(0.2), panel.y(100 * *bubble.closed_form)});
  }
  svg += plot::draw_points(0, measured) + plot::draw_points(1, simulated) + plot::draw_points(2, closed_form);
  svg += plot::draw_legend(80, 6, width - 100,
                           {{plot::draw_points(0, {{12, 6}}), "measured"},
                            {plot::draw_points(1, {{12, 6}}), "simulated with the measured times"},
                            {plot::draw_points(2, {{12, 6}}), "closed form"}});
  return plot::picture(width, 330, "Bubble measured, simulated and in closed form, " + reference.id, svg);
}

}  // namespace plumbline
