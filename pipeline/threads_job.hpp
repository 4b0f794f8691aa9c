// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a run as threads of this process.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Trains options.world ranks (1 by default); on GPUs all of them on the first one. Returns the exit code, and says why
/// when it is no success. Throws InputError before any rank has begun.
int train_with_threads(PipelineOptions options);

}  // namespace plumbline
