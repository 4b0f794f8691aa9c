// SPDX-License-Identifier: BSD-3-Clause
// One time for all ranks: where a rank's clock shows what rank 0's shows at the start of a run.
#pragma once

#include <cstdint>

#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Of one rank; nanoseconds of the monotonic clock.
struct AlignedClock {
  std::int64_t origin = 0;  ///< of this rank's clock, at the moment from which all ranks count
  /// The largest difference that may be left between two ranks; 0 where all read one clock. The same on all ranks.
  std::int64_t skew = 0;
};

/// Collective. Rank 0 asks all ranks for their time and takes it to be of the middle of the round trip; of several
/// round trips each narrows the difference down. `one_host`: a difference that may be nothing is nothing, for ranks of
/// one machine read one clock, unless they are in time namespaces of their own.
AlignedClock align_clocks(Transport& transport, bool one_host);

}  // namespace plumbline
