// SPDX-License-Identifier: BSD-3-Clause
// What this build and machine can do on GPUs, as JSON.
#pragma once

#include "support/json.hpp"

namespace plumbline {

/// What this build and machine can do on GPUs, for --capabilities: {"built": false} or {"built": true, "usable": bool,
/// "why_not": text or null, "cuda_driver", "cuda_runtime", "nccl", "nccl_library", "devices": [{"name", "capability",
/// "total_bytes", "uuid"}]}. Never throws.
Json gpu_capabilities();

/// "versions" of a run on GPUs: what is loaded. Call after open_gpus.
Json gpu_versions_json();

}  // namespace plumbline
