// When each action of a step began and ended, for actions.csv and for whoever asks what a rank that failed was doing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/writer.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Monotonic clock of this machine, ns.
std::int64_t monotonic_ns();

class ActionLog : public StepObserver {
 public:
  /// `origin_ns`: monotonic time of rank 0's start-up.
  ActionLog(RecordWriter& writer, std::int64_t origin_ns) : writer_(writer), origin_ns_(origin_ns) {}

  void action_began(const StepAction& action) override;
  void waited(const StepAction& action, std::int64_t nanoseconds) override;
  void action_ended(const StepAction& action) override;
  /// Writes the step's rows.
  void step_ended(std::int64_t step) override;

  void set_peak(const StepAction& action, std::int64_t peak_bytes) { row_of(action).peak_bytes = peak_bytes; }
  /// The actions of the step not ended yet, one JSON object a line: what a rank that failed was doing. Never throws.
  void write_flight(const std::filesystem::path& path) const noexcept;
  const std::string& last_action() const { return last_action_; }

 private:
  ActionRow& row_of(const StepAction& action) { return rows_.at(static_cast<std::size_t>(action.index)); }

  RecordWriter& writer_;
  std::int64_t origin_ns_;
  std::vector<ActionRow> rows_;
  std::string last_action_;
};

}  // namespace plumbline
