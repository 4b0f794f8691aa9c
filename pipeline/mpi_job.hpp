// SPDX-License-Identifier: BSD-3-Clause
// Runs this process as one rank of an MPI job.
#pragma once

#include <optional>

#include "pipeline/launch.hpp"
#include "support/error.hpp"

namespace plumbline {

/// Collective; a rank that already failed (`failure`) calls it too, so that all ranks learn of it, one prints it, and
/// all exit. Returns the exit code.
int train_with_mpi(const PipelineOptions& options, std::optional<Failure> failure);

}  // namespace plumbline
