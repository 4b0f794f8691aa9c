// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a job do, as threads or MPI processes: settings, plan, record, memory, training.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// The run file with the options that override parts of it. Throws InputError.
TrainingRun load_for_plan(const PipelineOptions& options);
/// The same for a run that will be trained, with its record and checkpoint folders. Refuses a run that would keep
/// nothing.
TrainingRun load_job(const PipelineOptions& options);

TransportSettings transport_settings(const TrainingRun& training);
NcclSettings nccl_settings(const TrainingRun& training);

/// Prepares the rank's device, checks its free memory and creates its part of the model. `training`: of the rank's
/// replica. Throws SystemError, RunError, InputError.
void make_trainer(std::optional<RankTrainer>& trainer, const TrainingRun& training, const PipelinePlan& plan,
                  Transport& transport, const std::filesystem::path& record);

/// Runs all steps and writes exit.json; the transport is still to be finished. Returns `stopped` if a signal ended the
/// run, else `holds`, the same on every rank. On failure writes exit.json and rethrows.
ExitCode train_rank(RankTrainer& trainer, const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                    bool progress);

/// Writes an error or a timeout into the rank's exit.json.
void note_failure(RankTrainer& trainer, const std::exception& why);

/// The message and exit code of a failure, for the user.
ExitCode code_of(const std::exception& error);

}  // namespace plumbline
