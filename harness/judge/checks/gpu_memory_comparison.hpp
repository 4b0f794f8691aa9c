// SPDX-License-Identifier: BSD-3-Clause
// Compares the memory figures of LibTorch's allocator and of the GPU with the run's own counts.
#pragma once

#include "harness/judge/checks/memory_part.hpp"

namespace plumbline::judging {

/// gpu_memory.csv of each record made on GPUs, by rank and step. Does nothing for runs on CPUs.
///
/// `requested_peak_bytes` is the allocator's count of the bytes that memory.csv counts by observation. In a process
/// with one rank both are reset at the step's start and no other thread allocates, so they are equal. If ranks are
/// threads of one process (manifest: transport "threads"), the allocator has a single count since the process began: it
/// is at least each rank's peak up to that step, and at most the sum of all ranks' peaks, because every byte belongs to
/// a rank.
///
/// In addition, the allocator reserved at least the requested bytes, currently reserves no more than at its peak, and
/// no more than is in use on the GPU. The rest in use is the context, NCCL and other processes: it is measured, without
/// a limit.
///
/// Counts gpu_rows.
std::unique_ptr<MemoryPart> gpu_memory_part(const CellEvidence& evidence);

}  // namespace plumbline::judging
