#include "training/action_log.hpp"

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

void ActionLog::action_began(const StepAction& action) {
  last_action_ = action.text;
  ActionRow row;
  row.step = action.step;
  row.index = action.index;
  row.action = action.text;
  row.stage = action.stage;
  row.microbatch = action.microbatch;
  row.start_ns = monotonic_ns() - origin_ns_;
  rows_.push_back(std::move(row));
}

void ActionLog::waited(const StepAction& action, std::int64_t nanoseconds) {
  row_of(action).wait_ns += nanoseconds;
}

void ActionLog::action_ended(const StepAction& action) {
  row_of(action).end_ns = monotonic_ns() - origin_ns_;
}

void ActionLog::write_flight(const std::filesystem::path& path) const noexcept {
  try {
    std::ofstream out(path);
    for (const ActionRow& row : rows_) {
      Json line;
      line["index"] = row.index;
      line["action"] = row.action;
      line["start_ns"] = row.start_ns;
      line["end_ns"] = row.end_ns == 0 ? Json() : Json(row.end_ns);
      line["wait_ns"] = row.wait_ns;
      out << json_text(line) << '\n';
    }
  } catch (const std::exception&) {
    return;  // the failure that brought us here is the one to report
  }
}

void ActionLog::step_ended(std::int64_t /*step*/) {
  for (ActionRow& row : rows_) writer_.add(std::move(row));
  rows_.clear();
}

}  // namespace plumbline
