// Whether the GPUs can be used: decided before anything is trained, with what to do about it when they cannot.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// "13.0" of 13000, as CUDA counts.
std::string cuda_version_text(int version);
/// "2.28.9" of 22809, as NCCL counts.
std::string nccl_version_text(int version);

/// Exactly one libnccl (`nccl_libraries`: those loaded) that is no older than the header. Throws SystemError.
void check_nccl_library(const GpuVersions& versions, const std::vector<std::string>& nccl_libraries);

/// A driver that can run this build's CUDA, and a GPU. Throws SystemError.
void check_driver(GpuSupport& support);

/// Loads the CUDA half and makes both checks. Throws InputError in a build without it, SystemError otherwise.
GpuSupport& open_gpus();

/// What this build and machine can do on GPUs, for --capabilities: {"built": false} or {"built": true, "usable": bool,
/// "why_not": text or null, "cuda_driver", "cuda_runtime", "nccl", "nccl_library", "devices": [{"name", "capability",
/// "total_bytes", "uuid"}]}. Never throws.
Json gpu_capabilities();

/// "versions" of a run on GPUs: what is loaded. Call after open_gpus.
Json gpu_versions_json();

}  // namespace plumbline
