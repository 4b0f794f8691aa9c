// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a run did when, beside what the simulator makes of the same schedule with the same run's times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "schedule/drawing.hpp"
#include "schedule/simulator.hpp"

namespace plumbline {

/// Times in ms.
struct MeasuredTimeline {
  std::int64_t step = 0;
  std::int64_t steps_timed = 0;                        ///< the medians are taken over so many
  bool lengths_differ = false;                         ///< then each length of a stage has its own median
  Schedule executed;                                   ///< compute actions and messages of the step, as recorded
  Simulation measured;                                 ///< an action starts where its rank has what it waited for
  std::vector<std::vector<double>> waits;              ///< of each executed action
  Schedule schedule;                                   ///< schedule.csv
  Simulation planned;                                  ///< with the medians of each stage, messages taking no time
  double median_makespan = 0, median_bubble_rate = 0;  ///< measured, over the steps timed
  /// Of the closed form with the mean of the stages' medians; nothing where none holds or lengths differ.
  std::optional<double> closed_form_rate;
};

/// Of one step: by default the one with the median makespan among all steps but the first, which warms caches up; of
/// two in the middle the shorter (the first step alone where there is no other). Throws InputError when the record
/// lacks the schedule, a step's actions, or an action that the schedule asks for.
MeasuredTimeline measure_timeline(const Record& record, std::optional<std::int64_t> step = std::nullopt);

/// Measured above, planned below.
std::vector<Timeline> timelines_of(const MeasuredTimeline& timeline);

}  // namespace plumbline
