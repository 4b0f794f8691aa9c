// What a job of ranks does alike, whether they are threads or MPI processes: settings, plan, record, memory, training.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_trainer.hpp"
#include "training/memory_plan.hpp"
#include "training/session.hpp"

namespace plumbline {

/// The run file, with the options that replace parts of it. Throws InputError.
Session load_job(const PipelineOptions& options);

/// What rank 0 does before any rank begins: the folder is this run's, and says what it will hold. Throws InputError
/// when the folder holds another run. `libraries`: name and version of what carries messages;
/// `one_clock`: whether all ranks read the same one.
void begin_record(const PipelineOptions& options, const Session& session, const PipelinePlan& plan,
                  const Json& libraries = Json::object(), bool one_clock = true);

/// What one rank keeps, and what all together keep on one GPU, from the first step to the last.
MemoryPlan memory_of(const Session& session, const PipelinePlan& plan, int rank);
MemoryPlan memory_of_all(const Session& session, const PipelinePlan& plan, int world);

/// "rank 2's plan is 3.2 GiB of ..."
std::string memory_words(const MemoryPlan& need, int rank);

/// This thread's device and its room for `who`. Throws SystemError, RunError.
void prepare_device(const Session& session, const MemoryPlan& need, const std::string& who);

TransportSettings transport_settings(const Session& session);
void connect(Transport& transport, const Session& session, const PipelinePlan& plan);

/// All steps, then exit.json. Throws what went wrong, after exit.json says so.
void train_rank(RankTrainer& trainer, bool progress, const std::function<void()>& connect);

/// What a failure is to whoever started the program.
ExitCode code_of(const std::exception& error);

}  // namespace plumbline
