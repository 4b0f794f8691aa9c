// SPDX-License-Identifier: BSD-3-Clause
#include "reports/measured_timeline.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "record/rank_folder.hpp"
#include "schedule/bubble.hpp"
#include "schedule/closed_forms.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/median.hpp"

namespace plumbline {
namespace {

struct StepTimes {
  Schedule executed;
  Simulation measured;
  std::vector<std::vector<double>> waits;
};

class Measurement {
 public:
  explicit Measurement(const Record& record) : record_(record) {
    if (!record.schedule_csv) {
      throw InputError(record.path.string() + ": has no schedule.csv to hold the actions against");
    }
    schedule_ = schedule_from_csv((record.path / "schedule.csv").string(), record.manifest.schedule_name,
                                  static_cast<std::int32_t>(record.manifest.chunks_per_rank));
    if (record.ranks.size() != schedule_.ranks.size()) {
      throw InputError(record.path.string() + ": has " + std::to_string(record.ranks.size()) +
                       " ranks, its schedule.csv is for " + std::to_string(schedule_.ranks.size()));
    }
    for (const RankRecord& rank : record.ranks) {
      for (const MicrobatchRow& row : rank.microbatches) {
        lengths_[row.microbatch] = {row.sequence_length, row.batch};
      }
    }
    for (const auto& [microbatch, length] : lengths_) lengths_differ_ |= length != lengths_.begin()->second;
  }

  MeasuredTimeline take(std::optional<std::int64_t> chosen) {
    const std::int64_t first = record_.first_step, last = record_.manifest.steps - 1;
    if (chosen && (*chosen < first || *chosen > last)) {
      throw InputError(record_.path.string() + ": has steps " + std::to_string(first) + " to " + std::to_string(last) +
                       ", not " + std::to_string(*chosen));
    }
    std::vector<std::pair<double, std::int64_t>> makespans;
    std::vector<double> plain, rates;
    for (std::int64_t step = std::min(first + 1, last); step <= last; ++step) {
      const StepTimes times = read(step);
      note_durations(times);
      makespans.emplace_back(times.measured.makespan, step);
      plain.push_back(times.measured.makespan);
      rates.push_back(times.measured.bubble_rate);
    }
    std::ranges::sort(makespans);

    MeasuredTimeline result;
    result.step = chosen.value_or(makespans[(makespans.size() - 1) / 2].second);
    result.steps_timed = std::ssize(makespans);
    result.lengths_differ = lengths_differ_;
    result.median_makespan = plumbline::median_of(plain).value_or(0);
    result.median_bubble_rate = plumbline::median_of(rates).value_or(0);
    StepTimes times = read(result.step);
    result.executed = std::move(times.executed);
    result.measured = std::move(times.measured);
    result.waits = std::move(times.waits);
    const Durations durations = medians();
    result.planned = simulate(schedule_, durations);
    if (!lengths_differ_) result.closed_form_rate = closed_form(durations.stages);
    result.schedule = schedule_;
    return result;
  }

 private:
  using Length = std::pair<std::int64_t, std::int64_t>;  // sequence, batch

  StepTimes read(std::int64_t step) const {
    StepTimes times;
    times.executed.name = schedule_.name;
    times.executed.placement = schedule_.placement;
    times.executed.microbatches = schedule_.microbatches;
    std::vector<std::vector<ActionTime>> all;
    for (const RankRecord& rank : record_.ranks) {
      ActionList list;
      std::vector<ActionTime> spans;
      std::vector<double> waits;
      for (const ActionRow& row : rank.actions) {
        if (row.step != step) continue;
        const auto action = parse_action(row.action);
        if (!action) fail(rank.rank, step, "'" + row.action + "' is no action");
        if (!is_compute(action->type) && !is_communication(action->type)) continue;
        list.push_back(*action);
        // A rank waits before it computes; messages are drawn whole.
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
    times.measured = summarise(times.executed, std::move(all));
    return times;
  }

  [[noreturn]] void fail(std::int64_t rank, std::int64_t step, const std::string& why) const {
    throw InputError((record_.path / rank_folder(rank) / "actions.csv").string() + ": step " + std::to_string(step) +
                     ": " + why);
  }

  void note_durations(const StepTimes& times) {
    for (std::size_t rank = 0; rank < times.executed.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < times.executed.ranks[rank].size(); ++i) {
        const Action& action = times.executed.ranks[rank][i];
        const ActionTime& time = times.measured.actions[rank][i];
        if (!is_compute(action.type)) continue;
        durations_[{action.stage, length_of(action.microbatch), action.type}].push_back(time.end - time.start);
      }
    }
  }

  Length length_of(std::int32_t microbatch) const {
    const auto found = lengths_.find(microbatch);
    return found == lengths_.end() ? Length{} : found->second;
  }

  std::optional<double> median_of(std::int32_t stage, std::int32_t microbatch, ActionType type) const {
    const auto found = durations_.find({stage, length_of(microbatch), type});
    if (found == durations_.end()) return std::nullopt;
    return plumbline::median_of(found->second);
  }

  /// One entry a stage, or one for each of its microbatches where lengths differ.
  Durations medians() const {
    Durations durations;
    const std::int32_t each = lengths_differ_ ? schedule_.microbatches : 1;
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

  std::optional<double> closed_form(const std::vector<StageTimes>& stages) const {
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

  const Record& record_;
  Schedule schedule_;
  std::map<std::int64_t, Length> lengths_;  ///< by microbatch; the same in every step
  bool lengths_differ_ = false;
  std::map<std::tuple<std::int32_t, Length, ActionType>, std::vector<double>> durations_;
};

}  // namespace

MeasuredTimeline measure_timeline(const Record& record, std::optional<std::int64_t> step) {
  return Measurement(record).take(step);
}

std::vector<Timeline> timelines_of(const MeasuredTimeline& timeline) {
  return {{"measured, step " + std::to_string(timeline.step), timeline.executed, timeline.measured, timeline.waits},
          {"planned", timeline.schedule, timeline.planned}};
}

}  // namespace plumbline
