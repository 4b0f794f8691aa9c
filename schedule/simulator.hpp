// SPDX-License-Identifier: BSD-3-Clause
// Predicts when each action of a schedule starts and ends, given durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Durations in any common unit.
struct StageTimes {
  double forward = 1;  ///< T_F
  double input = 1;    ///< T_B, the input gradient
  double weight = 1;   ///< T_W
  /// A full backward, if measured separately; else input + weight.
  std::optional<double> backward = std::nullopt;

  double full_backward() const { return backward.value_or(input + weight); }
};
struct Durations {
  /// One entry for all stages; one per stage; or one per microbatch of each stage (all of stage 0 first).
  std::vector<StageTimes> stages;
  /// T_comm of a message between two ranks, indexed by the lower of its two stages; one for all, or empty for none.
  std::vector<double> edges;
  /// False: a message begins only when its RECV is reached too, as where a receive waits for the compute before it.
  bool overlap = true;
};

struct ActionTime {
  double start = 0;
  double end = 0;
};

/// Times of all actions, and the quantities that follow from them.
struct Simulation {
  std::vector<std::vector<ActionTime>> actions;  ///< as in the schedule's lists; a RECV ends at its arrival
  double makespan = 0;                           ///< from the first start to the last end over all ranks
  /// Maximum over the ranks of (span - work) / span, with span = last end - first start of compute on the rank.
  double bubble_rate = 0;
  double bubble = 0;                     ///< maximum over the ranks of span - work, in the unit of the durations
  std::vector<std::int64_t> peak_slots;  ///< one per rank
};

/// Executes the lists in order: an action starts when its rank is free and its input is available. Sends never delay
/// the rank that posts them. Times start at 0. Accepts compute-only and lowered lists. Linear in the number of actions.
/// Throws InputError if a duration is not finite or negative, if the number of durations is neither 1 nor matches the
/// stages or the stages' microbatches, if lists without messages are to be simulated without overlap, or if the lists
/// wait for each other in a cycle.
Simulation simulate(const Schedule& schedule, const Durations& durations);

}  // namespace plumbline
