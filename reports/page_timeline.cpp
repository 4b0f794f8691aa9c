// SPDX-License-Identifier: BSD-3-Clause
// Timelines of the slowest case, measured above planned.
#include <algorithm>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "schedule/drawing.hpp"

namespace plumbline {
namespace {

constexpr double timeline_width = 1220;

std::string milliseconds(double value) {
  return (value < 100 ? short_number(value) : grouped(static_cast<std::int64_t>(value + 0.5))) + " ms";
}

std::string caption(const CellVerdict& cell, const Manifest& manifest, const MeasuredTimeline& timeline) {
  std::string text = cell_title(cell) + ", step " + std::to_string(timeline.step) +
                     " (the median of all but the first). Measured: " + milliseconds(timeline.measured.makespan) +
                     ", bubble " + percent_of(timeline.measured.bubble_rate) +
                     ". Planned: " + milliseconds(timeline.planned.makespan) + ", bubble " +
                     percent_of(timeline.planned.bubble_rate) + ", from the medians over " +
                     count_text(timeline.steps_timed, "step") + ", one for each stage and kind of action" +
                     (timeline.lengths_differ ? " and length of microbatch" : "") + ", messages taking no time.";
  if (timeline.closed_form_rate)
    text += " Closed form, for equal stages: bubble " + percent_of(*timeline.closed_form_rate) + ".";
  const std::optional<std::int64_t> cores = cores_of(manifest);
  if (!cores) return text + " The record lacks the number of cores.";
  if (cell.world > *cores) {
    text += " " + count_text(cell.world, "rank") + " shared " + count_text(*cores, "core") +
            ": this measures the machine, not the schedule.";
  }
  return text;
}

}  // namespace

void fill_timeline(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData data(false);
  if (const auto& slowest = evidence.slowest) {
    const auto cell = std::ranges::find(verdict.cells, slowest->id, &CellVerdict::id);
    data = PageData("svg", PageData(draw_svg(timelines_of(slowest->timeline), timeline_width)));
    data.set("caption", page_text(caption(*cell, evidence.cells.at(slowest->id).manifest, slowest->timeline)));
  }
  page.set("timeline", data);
}

}  // namespace plumbline
