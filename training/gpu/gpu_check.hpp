// SPDX-License-Identifier: BSD-3-Clause
// Checks before training whether GPUs can be used; errors say what to do.
#pragma once

#include <string>
#include <vector>

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Requires exactly one libnccl (`nccl_libraries`: those loaded) with the functions that are used. Throws SystemError.
void check_nccl_library(const GpuVersions& versions, const std::vector<std::string>& nccl_libraries);

/// Requires a driver that supports this build's CUDA, and a GPU. Throws SystemError, and InputError if
/// CUDA_VISIBLE_DEVICES shows CUDA no GPU: it names none, one twice, or a MIG slice among others.
void check_driver(GpuSupport& support);

/// Loads the CUDA module and makes both checks. Throws InputError in a build without it, SystemError otherwise.
GpuSupport& open_gpus();

}  // namespace plumbline
