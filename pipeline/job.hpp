// SPDX-License-Identifier: BSD-3-Clause
// What a job of ranks does alike, whether they are threads or MPI processes: settings, plan, record, memory, training.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_trainer.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// The run file, with the options that replace parts of it. Throws InputError.
TrainingRun load_for_plan(const PipelineOptions& options);
/// The same of a run that is to be trained, with where it is kept: one that would keep nothing is refused.
TrainingRun load_job(const PipelineOptions& options);

TransportSettings transport_settings(const TrainingRun& training);

/// A rank's part of the model, on a device that is ready and has room for it. Throws SystemError, RunError, InputError.
void make_trainer(std::optional<RankTrainer>& trainer, const TrainingRun& training, const PipelinePlan& plan,
                  Transport& transport, const std::filesystem::path& record);

/// All steps, then exit.json, and the transport's end. Throws what went wrong, after exit.json says so.
void train_rank(RankTrainer& trainer, const TrainingRun& training, const PipelinePlan& plan, Transport& transport,
                bool progress);

/// Writes into the rank's exit.json that it failed, or waited in vain.
void note_failure(RankTrainer& trainer, const std::exception& why);

/// What a failure is to whoever started the program.
ExitCode code_of(const std::exception& error);

}  // namespace plumbline
