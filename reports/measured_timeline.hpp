// SPDX-License-Identifier: BSD-3-Clause
// The measured timeline of a run, and the simulated one of the same schedule with the run's median times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record/record.hpp"
#include "schedule/drawing.hpp"
#include "schedule/simulator.hpp"

namespace plumbline {

/// Times in ms.
struct MeasuredTimeline {
  std::int64_t step = 0;
  std::int64_t steps_timed = 0;                        ///< number of steps in the medians
  bool lengths_differ = false;                         ///< then each length of a stage has its own median
  Schedule executed;                                   ///< compute actions and messages of the step, as recorded
  Simulation measured;                                 ///< an action starts when its wait has ended
  std::vector<std::vector<double>> waits;              ///< of each executed action
  Schedule schedule;                                   ///< schedule.csv
  Simulation planned;                                  ///< with the medians of each stage, messages taking no time
  double median_makespan = 0, median_bubble_rate = 0;  ///< measured, over the steps timed
  /// The bubble of the closed form, with the mean of the stages' medians; nullopt without a form, or if lengths differ.
  std::optional<double> closed_form_rate;
};

/// Collects the times of a run's actions, step by step.
class TimelineMeasurement {
 public:
  /// `record`: manifest and schedule.csv; its rows are not read. Throws InputError without a schedule.csv.
  explicit TimelineMeasurement(const Record& record);

  /// `rows`: a record with the rows of this step, maybe others. The times of the first step, which warms caches up, are
  /// not taken unless it is the only one. Throws InputError if the step lacks an action of the schedule.
  void add(const Record& rows, std::int64_t step);
  /// ms, over the steps taken; 0 if there are none.
  double median_makespan() const;
  /// The step with the median makespan; of two middle ones the shorter.
  std::int64_t median_step() const;
  MeasuredTimeline timeline(const Record& rows, std::int64_t step) const;

 private:
  using Length = std::pair<std::int64_t, std::int64_t>;  ///< sequence, batch
  struct StepTimes;

  bool lengths_differ() const;
  StepTimes read(const Record& rows, std::int64_t step) const;
  [[noreturn]] void fail(std::int64_t rank, std::int64_t step, const std::string& why) const;
  void note_durations(const StepTimes& times);
  Length length_of(std::int32_t microbatch) const;
  std::optional<double> median_of(std::int32_t stage, std::int32_t microbatch, ActionType type) const;
  Durations medians() const;
  std::optional<double> closed_form(const std::vector<StageTimes>& stages) const;

  std::filesystem::path path_;
  std::int64_t first_, last_;
  Schedule schedule_;
  std::map<std::int64_t, Length> lengths_;                  ///< by microbatch; the same in every step
  std::vector<std::pair<double, std::int64_t>> makespans_;  ///< and their steps
  std::vector<double> rates_;                               ///< bubble rates
  std::map<std::tuple<std::int32_t, Length, ActionType>, std::vector<double>> durations_;
};

/// For one step of a record that was read whole: by default the median step. Throws InputError as above, and for a step
/// that the record lacks.
MeasuredTimeline measure_timeline(const Record& record, std::optional<std::int64_t> step = std::nullopt);

/// Draws the measured timeline above the planned one.
std::vector<Timeline> timelines_of(const MeasuredTimeline& timeline);

}  // namespace plumbline
