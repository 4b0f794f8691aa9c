// Memory of the ranks' processes, tensors or not, as Linux counts it.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Three limits on each rank's process (docs/decisions/0015). Where the plan has `process_memory_limit`: private memory
/// (anonymous and shared), as a share of the reference's. Where it has a base, private memory as the rank wrote it at
/// each step's end and as the launcher saw it between is at most
///
///     libraries + the largest peak_bytes of the rank's steps + kept + 32 MiB, and 5 % of it all
///
/// and what of it malloc has not free at a step's end at most
///
///     libraries + live_bytes + 32 MiB, and 5 % of it all
///
/// The libraries take what a rank takes that trains next to nothing, or, where that is more, what the reference's
/// process took beyond its tensors and what MPI adds to that base. `kept` is what malloc has free at a step's end, at
/// most what that step freed of tensors (peak_bytes - live_bytes); 0 where the record does not tell. Leaves out, and
/// says so, what has no base or cannot be held to it: ranks that are threads of one process, GPUs, sanitizers, other
/// people's trainers.
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
