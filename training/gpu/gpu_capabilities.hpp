// SPDX-License-Identifier: BSD-3-Clause
// What this build and machine support on GPUs, as JSON.
#pragma once

#include "support/json.hpp"

namespace plumbline {

/// For --capabilities: {"built": false} or {"built": true, "usable": bool, "why_not": text or null, "cuda_driver",
/// "cuda_runtime", "nccl", "nccl_library", "devices": [{"name", "capability", "total_bytes", "uuid"}]}. Never throws.
Json gpu_capabilities();

/// "versions" of a run on GPUs: the loaded libraries. Call after open_gpus.
Json gpu_versions_json();

}  // namespace plumbline
