// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a run as the processes of an MPI job, this one being one of them.
#pragma once

#include <optional>

#include "pipeline/launch.hpp"
#include "support/failure.hpp"

namespace plumbline {

/// Collective, and so also for a rank that cannot begin (`failure`, of what it did so far): all hear of it, one says
/// it, all leave. Returns the exit code.
int train_with_mpi(PipelineOptions options, std::optional<Failure> failure);

}  // namespace plumbline
