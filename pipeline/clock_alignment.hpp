// SPDX-License-Identifier: BSD-3-Clause
// Aligns the ranks' clocks: finds where each rank's clock is when rank 0's shows the start of the run.
#pragma once

#include <cstdint>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Of one rank; nanoseconds on the monotonic clock.
struct AlignedClock {
  std::int64_t origin = 0;  ///< this rank's clock at time 0 of the run
  /// Upper bound on the remaining difference between two ranks, the same on all ranks; 0 if all read one clock.
  std::int64_t skew = 0;
};

/// Collective. Rank 0 asks every rank for its time and assigns it to the middle of the round trip; each of several
/// round trips narrows the interval. `one_host`: a difference that may be 0 is taken as 0, since ranks on one machine
/// share a clock unless they are in different time namespaces.
AlignedClock align_clocks(Transport& transport, bool one_host);

}  // namespace plumbline
