// What a job of ranks does alike, whether they are threads or MPI processes: settings, plan, record, memory, training.
#pragma once

#include <exception>
#include <functional>

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
void connect(Transport& transport, const TrainingRun& training, const PipelinePlan& plan);

/// All steps, then exit.json. Throws what went wrong, after exit.json says so.
void train_rank(RankTrainer& trainer, bool progress, const std::function<void()>& connect);

/// Writes into the rank's exit.json that it failed, or waited in vain.
void note_failure(RankTrainer& trainer, const std::exception& why);

/// What a failure is to whoever started the program.
ExitCode code_of(const std::exception& error);

}  // namespace plumbline
