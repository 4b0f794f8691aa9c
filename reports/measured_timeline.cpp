// SPDX-License-Identifier: BSD-3-Clause
#include "reports/measured_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "record/rank_folder.hpp"
#include "schedule/bubble.hpp"
#include "schedule/closed_forms.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {

struct TimelineMeasurement::StepTimes {
  Schedule executed;
  Simulation measured;
  std::vector<std::vector<double>> waits;
};

TimelineMeasurement::TimelineMeasurement(const Record& record)
    : path_(record.path), first_(record.first_step), last_(record.manifest.steps - 1) {
  if (!record.schedule_csv)
    throw InputError(record.path.string() + ": has no schedule.csv to compare the actions with");
  schedule_ = schedule_from_csv((record.path / "schedule.csv").string(), record.manifest.schedule_name,
                                static_cast<std::int32_t>(record.manifest.chunks_per_rank));
  if (record.ranks.size() != schedule_.ranks.size()) {
    throw InputError(fmt::format("{}: has {} ranks, its schedule.csv is for {}", record.path.string(),
                                 record.ranks.size(), schedule_.ranks.size()));
  }
}

void TimelineMeasurement::add(const Record& rows, std::int64_t step) {
  for (const RankRecord& rank : rows.ranks) {
    for (const MicrobatchRow& row : rank.microbatches) lengths_[row.microbatch] = {row.sequence_length, row.batch};
  }
  if (step < first_ || (step == first_ && first_ < last_)) return;
  const StepTimes times = read(rows, step);
  note_durations(times);
  makespans_.emplace_back(times.measured.makespan, step);
  rates_.push_back(times.measured.bubble_rate);
}

double TimelineMeasurement::median_makespan() const {
  std::vector<double> plain;
  for (const auto& [makespan, step] : makespans_) plain.push_back(makespan);
  return plumbline::median_of(plain).value_or(0);
}

std::int64_t TimelineMeasurement::median_step() const {
  auto sorted = makespans_;
  std::ranges::sort(sorted);
  return sorted.at((sorted.size() - 1) / 2).second;
}

MeasuredTimeline TimelineMeasurement::timeline(const Record& rows, std::int64_t step) const {
  MeasuredTimeline result;
  result.step = step;
  result.steps_timed = std::ssize(makespans_);
  result.lengths_differ = lengths_differ();
  result.median_makespan = median_makespan();
  result.median_bubble_rate = plumbline::median_of(rates_).value_or(0);
  StepTimes times = read(rows, step);
  result.executed = std::move(times.executed);
  result.measured = std::move(times.measured);
  result.waits = std::move(times.waits);
  const Durations durations = medians();
  result.planned = simulate(schedule_, durations);
  if (!result.lengths_differ) result.closed_form_rate = closed_form(durations.stages);
  result.schedule = schedule_;
  return result;
}

bool TimelineMeasurement::lengths_differ() const {
  return std::ranges::any_of(lengths_, [&](const auto& each) { return each.second != lengths_.begin()->second; });
}

TimelineMeasurement::StepTimes TimelineMeasurement::read(const Record& rows, std::int64_t step) const {
  StepTimes times;
  times.executed.name = schedule_.name;
  times.executed.placement = schedule_.placement;
  times.executed.microbatches = schedule_.microbatches;
  std::vector<std::vector<ActionTime>> all;
  for (const RankRecord& rank : rows.ranks) {
    ActionList list;
    std::vector<ActionTime> spans;
    std::vector<double> waits;
    for (const ActionRow& row : rank.actions) {
      if (row.step != step) continue;
      const auto action = parse_action(row.action);
      if (!action) fail(rank.rank, step, fmt::format("'{}' is not an action", row.action));
      if (!is_compute(action->type) && !is_communication(action->type)) continue;
      list.push_back(*action);
      // An action's wait precedes its computation; messages are drawn whole.
      const std::int64_t wait_ns = is_compute(action->type) ? row.wait_ns : 0;
      const std::int64_t start_ns = std::min(row.start_ns + wait_ns, row.end_ns);
      spans.push_back({static_cast<double>(start_ns) * 1e-6, static_cast<double>(row.end_ns) * 1e-6});
      waits.push_back(static_cast<double>(wait_ns) * 1e-6);
    }
    ActionList compute;
    std::ranges::copy_if(list, std::back_inserter(compute), [](const Action& each) { return is_compute(each.type); });
    if (compute != schedule_.ranks[times.executed.ranks.size()]) {
      fail(rank.rank, step, "its actions are not those of schedule.csv");
    }
    times.executed.ranks.push_back(std::move(list));
    times.waits.push_back(std::move(waits));
    all.push_back(std::move(spans));
  }
  times.measured = summarize(times.executed, std::move(all));
  return times;
}

void TimelineMeasurement::fail(std::int64_t rank, std::int64_t step, const std::string& why) const {
  throw InputError(fmt::format("{}: step {}: {}", (path_ / rank_folder(rank) / "actions.csv").string(), step, why));
}

void TimelineMeasurement::note_durations(const StepTimes& times) {
  for (std::size_t rank = 0; rank < times.executed.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < times.executed.ranks[rank].size(); ++i) {
      const Action& action = times.executed.ranks[rank][i];
      const ActionTime& time = times.measured.actions[rank][i];
      if (!is_compute(action.type)) continue;
      durations_[{action.stage, length_of(action.microbatch), action.type}].push_back(time.end - time.start);
    }
  }
}

TimelineMeasurement::Length TimelineMeasurement::length_of(std::int32_t microbatch) const {
  const auto found = lengths_.find(microbatch);
  return found == lengths_.end() ? Length{} : found->second;
}

std::optional<double> TimelineMeasurement::median_of(std::int32_t stage, std::int32_t microbatch,
                                                     ActionType type) const {
  const auto found = durations_.find({stage, length_of(microbatch), type});
  if (found == durations_.end()) return std::nullopt;
  return plumbline::median_of(found->second);
}

/// One entry per stage, or one for each of its microbatches if lengths differ.
Durations TimelineMeasurement::medians() const {
  Durations durations;
  const std::int32_t each = lengths_differ() ? schedule_.microbatches : 1;
  for (std::int32_t stage = 0; stage < schedule_.placement.stages(); ++stage) {
    for (std::int32_t microbatch = 0; microbatch < each; ++microbatch) {
      StageTimes times;
      times.backward = median_of(stage, microbatch, ActionType::backward);
      times.forward = median_of(stage, microbatch, ActionType::forward).value_or(0);
      times.input = median_of(stage, microbatch, ActionType::backward_input).value_or(times.backward.value_or(0));
      times.weight = median_of(stage, microbatch, ActionType::backward_weight).value_or(0);
      durations.stages.push_back(times);
    }
  }
  return durations;
}

std::optional<double> TimelineMeasurement::closed_form(const std::vector<StageTimes>& stages) const {
  StageTimes mean{0, 0, 0};
  const double share = 1 / static_cast<double>(stages.size());
  for (const StageTimes& times : stages) {
    mean.forward += times.forward * share;
    mean.input += times.input * share;
    mean.weight += times.weight * share;
  }
  const Placement& placement = schedule_.placement;
  const auto bubble = closed_form_bubble(schedule_.name, placement.ranks, schedule_.microbatches, mean);
  const double work = schedule_.microbatches * placement.chunks_per_rank * (mean.forward + mean.input + mean.weight);
  if (!bubble || !(work > 0)) return std::nullopt;
  return *bubble / (work + *bubble);
}

MeasuredTimeline measure_timeline(const Record& record, std::optional<std::int64_t> step) {
  const std::int64_t first = record.first_step, last = record.manifest.steps - 1;
  TimelineMeasurement measurement(record);
  if (step && (*step < first || *step > last)) {
    throw InputError(fmt::format("{}: has steps {} to {}, not {}", record.path.string(), first, last, *step));
  }
  for (std::int64_t each = first; each <= last; ++each) measurement.add(record, each);
  return measurement.timeline(record, step.value_or(measurement.median_step()));
}

std::vector<Timeline> timelines_of(const MeasuredTimeline& timeline) {
  return {{fmt::format("measured, step {}", timeline.step), timeline.executed, timeline.measured, timeline.waits},
          {"planned", timeline.schedule, timeline.planned}};
}

}  // namespace plumbline
