// SPDX-License-Identifier: BSD-3-Clause
// How large a run is, roughly, before anything has been started: for estimates alone.
#pragma once

#include <cstdint>

#include "harness/sweep/planned_run.hpp"

namespace plumbline {

struct RunSize {
  double parameters = 0;
  double tokens = 0;        ///< of a step, padding included
  double microbatches = 0;  ///< of a step
  double steps = 0;
  double states = 0;  ///< numbers that the optimiser keeps for each parameter
  double hidden = 0, layers = 0;
  double element_bytes = 4;  ///< of the run's dtype
};

/// Zeros where the run file or its model does not say, as the trainers will, and of commands of the user's own.
RunSize run_size(const SweepFile& sweep, const PlannedReference& reference);

/// Bytes of all dumps of one record of it: gradients, parameters and the optimiser's state of every step and of the
/// start, and what crosses the cuts, which a pipeline's record holds as sent and as received.
double dump_bytes(const RunSize& size);

/// Seconds that a run takes, with its start, on a processor like those of today; only ratios of it count.
double rough_seconds(const RunSize& size, std::int64_t ranks);

}  // namespace plumbline
