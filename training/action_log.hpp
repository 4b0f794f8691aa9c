// SPDX-License-Identifier: BSD-3-Clause
// When each action of a step began and ended: for actions.csv, and for the flight record of a failed rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "record/writer.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// Monotonic clock of this machine, ns.
std::int64_t monotonic_ns();

class ActionLog {
 public:
  /// `origin_ns`: monotonic time of rank 0's start. If `gpu` is not null, compute actions have the GPU's begin and end
  /// and wait while its stream is empty; messages have the host's times.
  ActionLog(RecordWriter& writer, std::int64_t origin_ns, GpuSupport* gpu = nullptr);

  void began(const StepAction& action);
  void waited(const StepAction& action, std::int64_t nanoseconds);
  void ended(const StepAction& action);
  /// Writes the step's rows; on a GPU, after all its work.
  void step_ended();

  void set_peak(const StepAction& action, std::int64_t peak_bytes) { row_of(action).peak_bytes = peak_bytes; }
  /// Writes the unfinished actions of the step, one JSON object per line, for a rank that failed. Never throws.
  void write_flight_record(const std::filesystem::path& path) const noexcept;
  const std::string& last_action() const { return last_action_; }

 private:
  enum class Point { start, waited, end };
  struct Marked {
    std::size_t row;
    Point point;
    std::int64_t host_ns;
  };

  ActionRow& row_of(const StepAction& action) { return rows_.at(static_cast<std::size_t>(action.index)); }
  std::int64_t now() const { return monotonic_ns() - origin_ns_; }
  void mark(const StepAction& action, Point point, std::int64_t host_ns);
  void use_gpu_times();

  RecordWriter& writer_;
  std::int64_t origin_ns_;
  std::unique_ptr<GpuTimer> timer_;  ///< null: the host's times are used
  std::vector<ActionRow> rows_;
  std::vector<Marked> marked_;
  std::string last_action_;
};

}  // namespace plumbline
