// SPDX-License-Identifier: BSD-3-Clause
// Prepares a rank's device: selects it, compares the plan with its free memory, and initializes the GPU's libraries.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <string>

#include "training/gpu/gpu_support.hpp"
#include "training/memory_plan.hpp"
#include "training/run.hpp"

namespace plumbline {

/// Call after open_gpus, on the training thread and before its first tensor: sets `device` for this thread, counts its
/// tensor bytes instead of the CPU's if `watched` (a call for each allocation, which only a record needs), selects the
/// attention kernel, and allocates the workspaces of cuBLAS and cuBLASLt (under MemoryOwner::other: they are permanent,
/// not activations of the first microbatch). Throws RunError with CUDA's text.
GpuDevice start_gpu(c10::Device device, c10::ScalarType dtype, bool watched);

/// Runs `body`; turns an out-of-memory error of the GPU into a RunError with the requested size, CUDA's numbers, and
/// the plan (`plan`: "the plan for it is 3.2 GiB of ...").
void explain_out_of_memory(const std::string& plan, const std::function<void()>& body);

/// For a run on GPUs, selects the first visible one; otherwise does nothing.
void use_first_gpu(Run& run);

/// For a run on GPUs, sets this thread's device and checks its memory for `owner`; otherwise does nothing. Throws
/// SystemError, RunError.
void prepare_device(const Run& run, const MemoryPlan& need, const std::string& owner);

}  // namespace plumbline
