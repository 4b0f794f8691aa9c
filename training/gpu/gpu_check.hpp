// SPDX-License-Identifier: BSD-3-Clause
// Checks before training whether GPUs can be used, and what this build and machine support; errors say what to do.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

inline constexpr const char* nccl_file_name = "libnccl.so";

/// Paths of those whose file name begins with `beginning` ("libnccl.so"), in load order, each file once.
std::vector<std::string> loaded_libraries(const std::string& beginning);

/// Requires exactly one libnccl (`nccl_libraries`: those loaded) with the functions that are used. Throws SystemError.
void check_nccl_library(const GpuVersions& versions, const std::vector<std::string>& nccl_libraries);

/// Requires a driver that supports this build's CUDA, and a GPU. Throws SystemError, and InputError if
/// CUDA_VISIBLE_DEVICES shows CUDA no GPU: it names none, one twice, or a MIG slice among others.
void check_driver(GpuSupport& support);

/// Loads the CUDA module and makes both checks. Throws InputError in a build without it, SystemError otherwise.
GpuSupport& open_gpus();

/// For --capabilities: {"built": false} or {"built": true, "usable": bool, "why_not": text or null, "cuda_driver",
/// "cuda_runtime", "nccl", "nccl_library", "devices": [{"name", "capability", "total_bytes", "uuid"}]}. Never throws.
Json gpu_capabilities();

/// "versions" of a run on GPUs: the loaded libraries. Call after open_gpus.
Json gpu_versions_json();

}  // namespace plumbline
