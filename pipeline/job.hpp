// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a job do, as threads or MPI processes: settings, plan, record, memory, training.
#pragma once

#include <functional>
#include <optional>

#include "pipeline/clock_alignment.hpp"
#include "pipeline/launch.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// The run file with the options that override parts of it. Throws InputError.
TrainingRun load_for_plan(const PipelineOptions& options);
/// The same for a run that will be trained, with its record and checkpoint folders. Refuses a run that would keep
/// nothing.
TrainingRun load_job(const PipelineOptions& options);

TransportSettings transport_settings(const TrainingRun& training);
NcclSettings nccl_settings(const TrainingRun& training);

/// What a rank knows when its transport is open.
struct RankStart {
  AlignedClock clock;
  Json libraries = Json::object();  ///< name and version of the message libraries
  /// Called before this rank ends the others for its failure.
  std::function<void(ExitCode)> failing = [](ExitCode) {};
};

/// Collective: one rank's part of a job, the same for MPI processes and threads. Before the first step come the plan
/// and the record's folder, the machines' free memory, the parts of the model, the checkpoint to resume from and the
/// record's description; after each, all ranks agree to go on, or print the lowest failed rank's reason once and return
/// its exit code. `training`: null if `failure` says why this rank cannot train, which it brings along.
int run_rank(const PipelineOptions& options, std::optional<TrainingRun> training, std::optional<Failure> failure,
             Transport& transport, const RankStart& start);

/// Runs this process as one rank of an MPI job. Collective; a rank that already failed (`failure`) calls it too, so
/// that all ranks learn of it, one prints it, and all exit. Returns the exit code.
int train_with_mpi(const PipelineOptions& options, std::optional<Failure> failure);

/// Trains with options.world ranks (default 1); on GPUs all of them share the first one. Returns the exit code and
/// prints the reason of a failure. Throws InputError before any rank has started.
int train_with_threads(const PipelineOptions& options);

}  // namespace plumbline
