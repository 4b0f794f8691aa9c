// What was executed when, above what was planned, one cell a schedule.
#include <algorithm>

#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "schedule/drawing.hpp"

namespace plumbline {
namespace {

constexpr double timeline_width = 980;

struct Candidate {
  const CellVerdict* cell;
  const RunSummary* run;

  bool fits() const { return cell->world <= cores_of(run->manifest).value_or(cell->world); }
};

/// Whether `a` shows more of its schedule than `b`: more than one rank, each with a core, as many as there are.
bool tells_more(const Candidate& a, const Candidate& b) {
  const auto pipelined = [](const Candidate& each) { return each.cell->world > 1; };
  if (pipelined(a) != pipelined(b)) return pipelined(a);
  if (a.fits() != b.fits()) return a.fits();
  return a.fits() ? a.cell->world > b.cell->world : a.cell->world < b.cell->world;
}

/// By schedule, in the verdict's order; the first of equals.
std::vector<Candidate> choose(const Verdict& verdict, const Evidence& evidence) {
  std::vector<Candidate> chosen;
  for (const CellVerdict& cell : verdict.cells) {
    const auto run = evidence.cells.find(cell.id);
    if (!cell.balance.empty() || run == evidence.cells.end() || !run->second.timeline) continue;
    const Candidate candidate{&cell, &run->second};
    const auto same =
        std::ranges::find_if(chosen, [&](const Candidate& each) { return each.cell->schedule == cell.schedule; });
    if (same == chosen.end()) {
      chosen.push_back(candidate);
    } else if (tells_more(candidate, *same)) {
      *same = candidate;
    }
  }
  return chosen;
}

std::string percent_or_dash(const std::optional<double>& rate) {
  return rate ? percent_of(*rate) : "-";
}

std::string caption(const Candidate& chosen) {
  const MeasuredTimeline& timeline = *chosen.run->timeline;
  std::string text = chosen.cell->id + ", step " + std::to_string(timeline.step) +
                     ". Measured: " + short_number(timeline.measured.makespan) + " ms, bubble " +
                     percent_of(timeline.measured.bubble_rate) +
                     ". Planned: " + short_number(timeline.planned.makespan) + " ms, bubble " +
                     percent_of(timeline.planned.bubble_rate) + ", from the medians over " +
                     count_text(timeline.steps_timed, "step") + ", one for each stage and kind of action" +
                     (timeline.lengths_differ ? " and length of microbatch" : "") + ".";
  if (timeline.closed_form_rate) {
    text +=
        " Closed form, for equal stages with the mean of these times: " + percent_of(*timeline.closed_form_rate) + ".";
  }
  const RecordLevel level = chosen.run->manifest.level;
  if (level == RecordLevel::full || level == RecordLevel::dump) {
    text += " The ranks also digested every tensor that crossed, for the record: what they sent, between actions.";
  }
  const std::optional<std::int64_t> cores = cores_of(chosen.run->manifest);
  if (!cores) return text + " The record does not say how many cores there were.";
  if (chosen.cell->world > *cores) {
    text += " " + count_text(chosen.cell->world, "rank") + " shared " + count_text(*cores, "core") +
            ": what is measured here is the machine's doing, not the schedule's.";
  }
  return text;
}

}  // namespace

void fill_timelines(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  const std::vector<Candidate> chosen = choose(verdict, evidence);
  PageData timelines = page_list();
  for (const Candidate& each : chosen) {
    const MeasuredTimeline& timeline = *each.run->timeline;
    PageData data;
    data.set("schedule", page_text(each.cell->schedule));
    data.set("cell", page_text(each.cell->id));
    data.set("world", std::to_string(each.cell->world) + (each.fits() ? "" : " (more than cores)"));
    data.set("measured_ms", short_number(timeline.median_makespan));
    data.set("planned_ms", short_number(timeline.planned.makespan));
    data.set("measured_rate", percent_of(timeline.median_bubble_rate));
    data.set("planned_rate", percent_of(timeline.planned.bubble_rate));
    data.set("closed_rate", percent_or_dash(timeline.closed_form_rate));
    data.set("svg", PageData(draw_svg(timelines_of(timeline), timeline_width)));
    data.set("caption", page_text(caption(each)));
    timelines.push_back(data);
  }
  page.set("has_timelines", PageData(!chosen.empty()));
  page.set("timelines", timelines);
  const auto cores = chosen.empty() ? std::nullopt : cores_of(chosen.front().run->manifest);
  page.set("cores", cores ? PageData("count", std::to_string(*cores)) : PageData(false));
}

}  // namespace plumbline
