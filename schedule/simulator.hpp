// SPDX-License-Identifier: BSD-3-Clause
// When each action of a schedule would start and end, given how long the work takes: nothing is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Durations in any one unit.
struct StageTimes {
  double forward = 1;  ///< T_F
  double input = 1;    ///< T_B, the input gradient
  double weight = 1;   ///< T_W
  /// A full backward, where it was measured on its own; else input + weight.
  std::optional<double> backward = std::nullopt;

  double full_backward() const { return backward.value_or(input + weight); }
};
struct Durations {
  /// One for all; one a stage; or one for each microbatch of each stage (all of stage 0 first), where their lengths
  /// differ.
  std::vector<StageTimes> stages;
  /// T_comm of a message between two ranks, by the lower of its two stages; one for all, or empty for none.
  std::vector<double> edges;
};

struct ActionTime {
  double start = 0;
  double end = 0;
};

/// Times of all actions and what follows from them.
struct Simulation {
  std::vector<std::vector<ActionTime>> actions;  ///< as the schedule's lists; a RECV ends at its arrival
  double makespan = 0;                           ///< from the first start to the last end over all ranks
  /// Largest over the ranks of (span - work) / span, span = last end - first start of compute on the rank.
  double bubble_rate = 0;
  double bubble = 0;                     ///< largest over the ranks of span - work, in the unit of the durations
  std::vector<std::int64_t> peak_slots;  ///< one a rank
};

/// Runs the lists in order: an action starts when its rank is free and its input is there. Sends never delay the rank
/// that posts them. Times count from 0. Takes compute-only and lowered lists. Linear in the number of actions. Throws
/// InputError when a duration is no finite number >= 0, when the number of durations fits neither 1 nor the stages nor
/// the stages' microbatches, or when the lists wait for each other in a circle.
Simulation simulate(const Schedule& schedule, const Durations& durations);

}  // namespace plumbline
