// SPDX-License-Identifier: BSD-3-Clause
// What LibTorch's allocator and the GPU itself say of a run's memory, held against what the run counted of its own.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// gpu_memory.csv of each record that was made on GPUs, rank by rank and step by step. Looks at nothing of a run on
/// CPUs.
///
/// `requested_peak_bytes` is the allocator's own count of the bytes that memory.csv counts by watching it. A process of
/// one rank lets both begin anew at the step's start and allocates on no other thread, so they are equal to the byte.
/// Of ranks that are threads of one process (manifest: transport "threads") the allocator has one count, since the
/// process began: it is at least each rank's own peak up to that step, and at most the sum of all ranks' peaks, because
/// every byte belongs to a rank.
///
/// Then: the allocator reserved at least what was asked of it, holds no more than at its peak, and no more than is
/// taken of the GPU. What is taken beside it is the context, NCCL and whatever other processes have there: a measured
/// figure, with nothing to hold it against.
///
/// Counts gpu_rows.
std::unique_ptr<MemoryPart> gpu_memory_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
