// Memory of the ranks' processes, tensors or not, as Linux counts it.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// Finds memory that a rank's process loses from step to step. Of each rank, what is in use at a step's end and is no
/// tensor: process_private_bytes - heap_free_bytes - live_bytes. The median of its growth from one recorded step to the
/// next is at most 64 MiB a step; a single step, in which a library loads or makes its buffers, may grow by more.
/// Private memory itself is measured and has no limit: memory that a process takes once, by malloc, is not covered.
/// Leaves out, and says so: ranks that are threads of one process, GPUs, sanitizers, other people's trainers.
std::unique_ptr<MemoryPart> processes_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
