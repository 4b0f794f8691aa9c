// Memory of the ranks' processes, tensors or not, as Linux counts it.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Two limits on each rank's process. Where the plan has `process_memory_limit`: private memory, as a share of the reference's.
/// Where it has a base: anonymous and shared memory (docs/decisions/0015), at most
///
///     libraries + the largest peak_bytes of the rank's steps + 32 MiB, and 5 % of it all
///
/// where the libraries take what a rank takes that trains next to nothing, or, where that is more, what the reference's
/// process took beyond its tensors and what MPI adds to that base.
/// as the rank wrote it at each step's end and the launcher saw it between. Leaves out, and says so, what has no base
/// or cannot be held to it: ranks that are threads of one process, GPUs, sanitizers, other people's trainers.
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
