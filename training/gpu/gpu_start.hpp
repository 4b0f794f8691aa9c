// SPDX-License-Identifier: BSD-3-Clause
// A rank's GPU made ready: chosen, counted, and with everything on it that libraries make at their first use.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <string>

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// After open_gpus, on the thread that trains and before its first tensor: `device` is this thread's from now on, its
/// tensor bytes count and those of the CPU no more, the attention kernel is chosen, and cuBLAS and cuBLASLt have their
/// workspaces (under MemoryOwner::other: they stay, and are no activation of the microbatch that happens to come
/// first). Throws RunError with CUDA's words.
GpuDevice start_gpu(c10::Device device, c10::ScalarType dtype);

/// Runs `body`; running out of GPU memory in it becomes a RunError that says how much was asked for, what CUDA has, and
/// what was planned (`plan`: "the plan for it is 3.2 GiB of ...").
void explain_out_of_memory(const std::string& plan, const std::function<void()>& body);

}  // namespace plumbline
