// SPDX-License-Identifier: BSD-3-Clause
// Whether the GPUs can be used: decided before anything is trained, with what to do about it when they cannot.
#pragma once

#include <string>
#include <vector>

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Exactly one libnccl (`nccl_libraries`: those loaded) that has the functions which are called. Throws SystemError.
void check_nccl_library(const GpuVersions& versions, const std::vector<std::string>& nccl_libraries);

/// A driver that can run this build's CUDA, and a GPU. Throws SystemError.
void check_driver(GpuSupport& support);

/// Loads the CUDA half and makes both checks. Throws InputError in a build without it, SystemError otherwise.
GpuSupport& open_gpus();

}  // namespace plumbline
