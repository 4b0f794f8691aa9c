// SPDX-License-Identifier: BSD-3-Clause
// Timelines of the slowest case, measured above planned.
#include <fmt/format.h>

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
  std::string text = fmt::format(
      "{}, step {} (of median length; the first step is left out). Measured: {}, bubble {}. Planned, from the median "
      "times over {} of each stage and kind of action{}, messages taking no time: {}, bubble {}. The bubble is the "
      "idle "
      "share of the rank that idles most.",
      cell_title(cell), timeline.step, milliseconds(timeline.measured.makespan),
      percent_of(timeline.measured.bubble_rate), count_text(timeline.steps_timed, "step"),
      timeline.lengths_differ ? " and length of microbatch" : "", milliseconds(timeline.planned.makespan),
      percent_of(timeline.planned.bubble_rate));
  if (timeline.closed_form_rate)
    text += fmt::format(" Closed form, for equal stages: bubble {}.", percent_of(*timeline.closed_form_rate));
  const std::optional<std::int64_t> cores = cores_of(manifest);
  if (!cores) return text + " The record lacks the number of cores.";
  if (cell.world > *cores) {
    text += fmt::format(" {} shared {}: this measures the machine, not the schedule.", count_text(cell.world, "rank"),
                        count_text(*cores, "core"));
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
