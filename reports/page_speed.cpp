// For each reference: how fast what was compared with it ran, drawn and in numbers.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "reports/page_parts.hpp"
#include "reports/speed_plot.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

SpeedPoint speed_point(const CellVerdict& cell, const RunSummary& run) {
  SpeedPoint point;
  point.world = cell.world;
  point.tokens_per_s = run.speed->tokens_per_s;
  point.recording = run.speed->recording;
  if (run.timeline) {
    point.bubble = run.timeline->median_bubble_rate;
    point.planned_bubble = run.timeline->planned.bubble_rate;
  }
  return point;
}

/// One run for each schedule and world size, the first of the verdict: others have a partition or a beginning of their
/// own.
std::vector<SpeedSeries> speed_series(const std::vector<const CellVerdict*>& cells, const Evidence& evidence) {
  std::vector<SpeedSeries> series;
  for (const CellVerdict* cell : cells) {
    const RunSummary& run = evidence.cells.at(cell->id);
    if (!cell->balance.empty() || !cell->variant.empty() || !run.speed) continue;
    auto same = std::ranges::find(series, cell->schedule, &SpeedSeries::schedule);
    if (same == series.end()) same = series.insert(series.end(), SpeedSeries{cell->schedule, {}});
    if (std::ranges::find(same->points, cell->world, &SpeedPoint::world) == same->points.end())
      same->points.push_back(speed_point(*cell, run));
  }
  for (SpeedSeries& one : series) std::ranges::sort(one.points, {}, &SpeedPoint::world);
  return series;
}

PageData speed_row(const std::string& label, const RunSummary& run, const std::optional<RunSpeed>& reference) {
  const auto or_dash = [](const std::optional<double>& rate) { return rate ? percent_of(*rate) : "-"; };
  PageData row;
  row.set("run", page_text(label));
  row.set("tokens", grouped(static_cast<std::int64_t>(run.speed->tokens_per_s)));
  row.set("over", reference ? short_number(run.speed->tokens_per_s / reference->tokens_per_s) : "-");
  row.set("bubble", or_dash(run.timeline ? std::optional(run.timeline->median_bubble_rate) : std::nullopt));
  row.set("planned", or_dash(run.timeline ? std::optional(run.timeline->planned.bubble_rate) : std::nullopt));
  row.set("recording", or_dash(run.speed->recording));
  return row;
}

}  // namespace

void add_speed(PageData& data, const RunSummary& reference, const std::vector<const CellVerdict*>& cells,
               const Evidence& evidence, const std::string& title) {
  const auto series = speed_series(cells, evidence);
  data.set("speed", PageData(!series.empty()));
  if (series.empty()) return;
  const auto alone = reference.speed ? std::optional(reference.speed->tokens_per_s) : std::nullopt;
  data.set("speed_svg", PageData(draw_speeds(series, alone, cores_of(reference.manifest), "Speed, " + title)));
  PageData rows = page_list();
  if (reference.speed) rows.push_back(speed_row("reference", reference, reference.speed));
  for (const CellVerdict* cell : cells) {
    const RunSummary& run = evidence.cells.at(cell->id);
    if (run.speed) rows.push_back(speed_row(run_label(*cell), run, reference.speed));
  }
  data.set("speed_rows", rows);
}

}  // namespace plumbline
