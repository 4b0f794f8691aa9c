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

std::size_t ActionLog::begin(std::string action, std::int64_t stage, std::optional<std::int64_t> microbatch) {
  last_action_ = action;
  ActionRow row;
  row.index = static_cast<std::int64_t>(rows_.size());
  row.action = std::move(action);
  row.stage = stage;
  row.microbatch = microbatch;
  row.start_ns = monotonic_ns() - origin_ns_;
  if (gpu_ != nullptr) ranges_.push_back(gpu_->begin_range(row.action.c_str()));
  rows_.push_back(std::move(row));
  return rows_.size() - 1;
}

void ActionLog::end(std::size_t index) {
  ActionRow& row = rows_.at(index);
  if (row.end_ns != 0) return;
  row.end_ns = monotonic_ns() - origin_ns_;
  if (gpu_ != nullptr) gpu_->end_range(ranges_.at(index));
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

void ActionLog::end_step(std::int64_t step) {
  for (ActionRow& row : rows_) {
    row.step = step;
    writer_.add(std::move(row));
  }
  rows_.clear();
  ranges_.clear();
}

}  // namespace plumbline
