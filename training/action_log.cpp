// SPDX-License-Identifier: BSD-3-Clause
#include "training/action_log.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <utility>

#include "support/json.hpp"
#include "support/json_text.hpp"

namespace plumbline {

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ActionLog::ActionLog(RecordWriter& writer, std::int64_t origin_ns, GpuSupport* gpu)
    : writer_(writer), origin_ns_(origin_ns), timer_(gpu == nullptr ? nullptr : gpu->make_timer()) {}

void ActionLog::began(const StepAction& action) {
  last_action_ = action.text;
  ActionRow row;
  row.step = action.step;
  row.index = action.index;
  row.action = action.text;
  row.stage = action.stage;
  row.microbatch = action.microbatch;
  row.start_ns = now();
  mark(action, Point::start, row.start_ns);
  rows_.push_back(std::move(row));
}

void ActionLog::waited(const StepAction& action, std::int64_t nanoseconds) {
  row_of(action).wait_ns += nanoseconds;
  // In an update the work precedes the wait; in a pass over a stage there is none before it.
  if (action.computes) mark(action, Point::waited, now());
}

void ActionLog::ended(const StepAction& action) {
  row_of(action).end_ns = now();
  mark(action, Point::end, row_of(action).end_ns);
}

/// Messages overlap with the stream's compute, so their end is the one that the host observes.
void ActionLog::mark(const StepAction& action, Point point, std::int64_t host_ns) {
  const bool message = !action.computes && action.microbatch;
  if (!timer_ || message) return;
  timer_->mark();
  marked_.push_back({static_cast<std::size_t>(action.index), point, host_ns});
}

void ActionLog::use_gpu_times() {
  const std::vector<std::int64_t> before_end = timer_->take();
  const std::int64_t end_ns = now();
  for (std::size_t i = 0; i < marked_.size(); ++i) {
    const Marked& marked = marked_[i];
    // The host observes the end slightly late; no point is reached before it was recorded.
    const std::int64_t reached_ns = std::max(marked.host_ns, end_ns - before_end.at(i));
    ActionRow& row = rows_.at(marked.row);
    if (marked.point == Point::start) row.start_ns = reached_ns;
    if (marked.point == Point::waited) row.wait_ns = reached_ns - row.start_ns;
    if (marked.point == Point::end) {
      row.end_ns = reached_ns;
      row.wait_ns = std::min(row.wait_ns, row.end_ns - row.start_ns);
    }
  }
  marked_.clear();
}

void ActionLog::write_flight_record(const std::filesystem::path& path) const noexcept {
  try {
    std::ofstream out(path);
    for (const ActionRow& row : rows_) {
      out << json_text({{"index", row.index},
                        {"action", row.action},
                        {"start_ns", row.start_ns},
                        {"end_ns", row.end_ns == 0 ? Json() : Json(row.end_ns)},
                        {"wait_ns", row.wait_ns}})
          << '\n';
    }
  } catch (const std::exception&) {
    return;  // the failure that led here is the one to report
  }
}

void ActionLog::step_ended() {
  if (timer_) use_gpu_times();
  for (ActionRow& row : rows_) writer_.add(std::move(row));
  rows_.clear();
}

}  // namespace plumbline
