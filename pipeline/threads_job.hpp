// SPDX-License-Identifier: BSD-3-Clause
// Runs the ranks of a run as threads of this process.
#pragma once

#include "pipeline/launch.hpp"

namespace plumbline {

/// Trains with options.world ranks (default 1); on GPUs all of them share the first one. Returns the exit code and
/// prints the reason of a failure. Throws InputError before any rank has started.
int train_with_threads(const PipelineOptions& options);

}  // namespace plumbline
