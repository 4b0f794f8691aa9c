// The ranks of a run as the processes of an MPI job, this one being one of them.
#pragma once

#include <string>

#include "pipeline/launch.hpp"
#include "support/error.hpp"

namespace plumbline {

/// What keeps a rank from beginning; no words when nothing does.
struct Hindrance {
  std::string words;
  ExitCode code = ExitCode::holds;
};

/// Collective, and so also for a rank that cannot begin (`refusal`): all hear of it, one says it, all leave. Returns
/// the exit code.
int train_with_mpi(const PipelineOptions& options, Hindrance refusal);

}  // namespace plumbline
