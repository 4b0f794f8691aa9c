#include "reports/slots_plot.hpp"

#include <algorithm>

#include "reports/plot/marks.hpp"
#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"
#include "schedule/schedule.hpp"
#include "schedule/simulator.hpp"
#include "support/error.hpp"

namespace plumbline {

SlotCurve slot_curve(const std::string& schedule, std::int32_t world, std::int32_t most) {
  SlotCurve curve{schedule, world, {}};
  const auto& known = schedule_names();
  if (std::ranges::find(known, schedule) == known.end()) return curve;
  const std::int32_t chunks = default_chunks(schedule);
  for (std::int32_t microbatches = 1; microbatches <= most; ++microbatches) {
    try {
      const Simulation run = simulate(make_schedule(schedule, world, microbatches, chunks), Durations{{{}}, {}});
      const auto slots = std::ranges::max(run.peak_slots);
      curve.slots.emplace_back(microbatches, static_cast<double>(slots) / chunks);
    } catch (const InputError&) {  // a number that it cannot have
    }
  }
  return curve;
}

std::string draw_slots(const std::vector<SlotCurve>& curves, std::int32_t microbatches, const std::string& title) {
  double most = 1, highest = 1;
  for (const SlotCurve& curve : curves) {
    for (const auto& [count, slots] : curve.slots) {
      most = std::max(most, static_cast<double>(count));
      highest = std::max(highest, slots);
    }
  }
  const plot::Panel panel({70, 16, 700, 246}, {0.5, most + 0.5, plot::whole_ticks(1, most, 16), "microbatches M"},
                          {0, highest * 1.08, plot::round_ticks(0, highest * 1.08, 8), "open microbatches of a rank"});
  std::string body = panel.draw_axes();
  if (microbatches > 0) {
    const double x = panel.x(microbatches);
    body +=
        plot::line(x, panel.frame().top, x, panel.frame().bottom, " stroke=\"currentColor\" stroke-dasharray=\"4 3\"") +
        plot::label(x + 5, panel.frame().top + 10, "these runs");
  }
  std::vector<plot::LegendEntry> legend;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<plot::Point> points;
    for (const auto& [count, slots] : curves[i].slots) points.push_back({panel.x(count), panel.y(slots)});
    body += plot::draw_line(i, points) + plot::draw_points(i, points);
    legend.push_back({plot::draw_line(i, {{0, 6}, {24, 6}}) + plot::draw_points(i, {{12, 6}}),
                      curves[i].schedule + ", P = " + std::to_string(curves[i].world)});
  }
  body += plot::draw_legend(720, 20, 200, legend);
  return plot::picture(930, 296, title, body);
}

}  // namespace plumbline
