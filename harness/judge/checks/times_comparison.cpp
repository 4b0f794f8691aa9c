// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/times_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "harness/judge/evidence/record_index.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// A message: direction (forward or not), receiving stage, microbatch.
using MessageKey = std::tuple<bool, std::int64_t, std::int64_t>;

std::optional<MessageKey> key_of(const Action& action) {
  const std::int64_t stage = action.stage, microbatch = action.microbatch;
  switch (action.type) {
    case ActionType::send_forward:
      return MessageKey{true, stage + 1, microbatch};
    case ActionType::receive_forward:
    case ActionType::forward:
      return MessageKey{true, stage, microbatch};
    case ActionType::send_backward:
      return MessageKey{false, stage - 1, microbatch};
    case ActionType::receive_backward:
    case ActionType::backward:
    case ActionType::backward_input:
      return MessageKey{false, stage, microbatch};
    default:
      return std::nullopt;
  }
}

}  // namespace

TimesComparison::TimesComparison(const Record& record, std::string whose, CheckResultBuilder& builder)
    : record_(record),
      whose_(std::move(whose)),
      builder_(builder),
      on_gpu_(record.manifest.device != "cpu"),
      compared_(!on_gpu_ || record.manifest.action_times == "gpu"),
      waits_recorded_(record.manifest.recorded({"waits"})),
      last_step_end_(record.ranks.size(), 0) {
  if (!compared_) {
    builder.leave_out(fmt::format("the {}'s times (those of launches on a GPU)", whose_));
    return;
  }
  const Json skew = record.manifest.json.value("clock_skew_ns", Json());
  if (skew.is_number()) skew_ = skew.get<double>();
  if (!waits_recorded_)
    builder.leave_out(fmt::format(
        "whether computations of the {} waited for their inputs (its recorder could not see waits)", whose_));
  if (!skew_ && record.manifest.world_size > 1)
    builder.leave_out(fmt::format("times of the {}'s ranks relative to each other (no clock_skew_ns)", whose_));
}

std::string TimesComparison::contradiction() const {
  if (contradicting_.empty()) return "";
  const double milliseconds = std::round(static_cast<double>(contradiction_) / 1e4) / 100;
  const std::string by = milliseconds > 0 ? to_text(milliseconds) + " ms" : to_text(contradiction_) + " ns";
  return fmt::format("{}: timestamps of {} contradict each other by {}; the order across ranks was not judged", whose_,
                     contradicting_, by);
}

void TimesComparison::step(std::int64_t step) {
  if (!compared_) return;
  step_ = step;
  timed_.clear();
  for (std::size_t i = 0; i < record_.ranks.size(); ++i) own_order(record_.ranks[i], last_step_end_[i]);
  messages();
  if (skew_) updates();
}

void TimesComparison::own_order(const RankRecord& rank, std::int64_t& last_step_end) {
  const auto rows = actions_in_order(rank);
  const ActionRow *before = nullptr, *compute_before = nullptr, *update = nullptr;
  builder_.inspect("times", std::ssize(rows));
  for (const ActionRow* each : rows) {
    const ActionRow& row = *each;
    const auto action = parse_action(row.action);
    const auto report_row = [&](const std::string& expected, const std::string& got) {
      report(rank.rank, row, expected, got);
    };
    if (row.end_ns < row.start_ns) {
      report_row("an end after its start", "ends before");
    } else if (row.wait_ns > row.end_ns - row.start_ns) {
      report_row("a wait within the action", "waits longer than it lasts");
    }
    // On a GPU a message is issued while earlier computations are still queued.
    const bool of_host = on_gpu_ && action && is_communication(action->type);
    const ActionRow* in_front = of_host ? nullptr : before;
    if (row.start_ns < (in_front ? in_front->start_ns : last_step_end))
      report_row(in_front ? "to be issued after " + in_front->action : "to be issued after the last step's STEP",
                 "starts before");
    if (update) report_row("no action after " + update->action, "comes after it");
    if (!of_host) before = &row;
    if (!action) continue;
    if (action->type == ActionType::step) update = &row;
    timed_.push_back({rank.rank, &row, *action});
    if (!is_compute(action->type)) continue;
    if (compute_before && row.start_ns < compute_before->end_ns)
      report_row("compute one after the other", "overlaps " + compute_before->action);
    compute_before = &row;
  }
  if (update) last_step_end = update->end_ns;
  duration(rank);
}

/// A step lasts at least as long as its actions; half a microsecond is the rounding of seconds.
void TimesComparison::duration(const RankRecord& rank) {
  const auto& rows = rank.actions;
  const auto& of_step = rank.steps;
  if (rows.empty() || of_step.empty() || !of_step.front().seconds) return;
  const auto last = std::ranges::max_element(rows, {}, &ActionRow::end_ns);
  const auto first = std::ranges::min_element(rows, {}, &ActionRow::start_ns);
  const double span = static_cast<double>(last->end_ns - first->start_ns);
  if (span == 0 && record_.manifest.traits.own_actions)
    report_duration(rank.rank, "actions", "times that pass", "one time",
                    fmt::format("all actions of the step begin and end at {} ns", first->start_ns));
  if (*of_step.front().seconds * 1e9 + 500 >= span) return;
  report_duration(rank.rank, "seconds", "at least " + to_text(span * 1e-9), to_text(*of_step.front().seconds),
                  "the step took less time than its actions");
}

void TimesComparison::report_duration(std::int64_t rank, const std::string& item, const std::string& expected,
                                      const std::string& got, const std::string& why) {
  report_at(off_path(step_, OffPath::duration, rank), rank, item, "", expected, got, why);
}

void TimesComparison::messages() {
  std::map<MessageKey, const Timed*> sends, receives;
  for (const Timed& timed : timed_) {
    if (!is_communication(timed.action.type)) continue;
    const bool send = timed.action.type == ActionType::send_forward || timed.action.type == ActionType::send_backward;
    (send ? sends : receives)[*key_of(timed.action)] = &timed;
  }
  for (const auto& [key, receive] : receives) {
    const auto send = sends.find(key);
    if (!skew_ || send == sends.end()) continue;
    builder_.inspect("messages");
    if (!before(receive->row->end_ns, send->second->row->start_ns)) continue;
    if (!record_.manifest.traits.own_actions)
      note_contradiction(*receive, *send->second);
    else
      report(receive->rank, *receive->row, "an end after the start of " + send->second->row->action, "ends before");
  }
  for (const Timed& timed : timed_) {
    if (!is_compute(timed.action.type)) continue;
    const auto key = key_of(timed.action);
    const auto receive = key ? receives.find(*key) : receives.end();
    if (receive == receives.end() || receive->second->rank != timed.rank || !waits_recorded_) continue;
    const ActionRow &arrival = *receive->second->row, &row = *timed.row;
    const bool waited = row.wait_ns > 0 && arrival.end_ns <= row.end_ns;
    if (arrival.end_ns > row.start_ns && !waited)
      report(timed.rank, row, fmt::format("to compute after {} has ended", arrival.action), "did not wait for it");
  }
}

void TimesComparison::updates() {
  if (record_.manifest.role != "pipeline") return;
  const Timed* latest = nullptr;
  for (const Timed& timed : timed_)
    if (is_compute(timed.action.type) && (!latest || timed.row->end_ns > latest->row->end_ns)) latest = &timed;
  for (const Timed& timed : timed_) {
    if (timed.action.type != ActionType::step || !latest) continue;
    if (before(timed.row->end_ns, latest->row->end_ns))
      report(
          timed.rank, *timed.row,
          fmt::format("an end after {} on rank {}, whose gradient its norm needs", latest->row->action, latest->rank),
          "ends before");
  }
}

void TimesComparison::note_contradiction(const Timed& receive, const Timed& send) {
  const std::int64_t by = send.row->start_ns - receive.row->end_ns;
  if (by <= contradiction_) return;
  contradiction_ = by;
  const auto [one, other] = std::minmax(receive.rank, send.rank);
  contradicting_ = fmt::format("ranks {} and {}", one, other);
}

bool TimesComparison::before(std::int64_t one, std::int64_t other) const {
  return static_cast<double>(one) + *skew_ < static_cast<double>(other);
}

void TimesComparison::report(std::int64_t rank, const ActionRow& row, const std::string& expected,
                             const std::string& got) {
  report_at(off_path_action(step_, row.index, rank), rank, row.action,
            fmt::format("action {}: {}", row.index, row.action), expected, got,
            fmt::format("{} to {} ns, wait {} ns", row.start_ns, row.end_ns, row.wait_ns));
}

void TimesComparison::report_at(const ExecutionPoint& point, std::int64_t rank, const std::string& item,
                                const std::string& what, const std::string& expected, const std::string& got,
                                const std::string& why) {
  builder_.diverge(point, {.step = step_,
                           .rank = rank,
                           .source = whose_,
                           .item = item,
                           .what = what,
                           .expected = expected,
                           .got = got,
                           .why = why});
}

}  // namespace plumbline::judging
