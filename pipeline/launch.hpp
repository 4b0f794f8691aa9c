// SPDX-License-Identifier: BSD-3-Clause
// Starts the ranks of a run, trains, and ends them: as MPI processes or as threads of this process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "support/error.hpp"
#include "training/run.hpp"
#include "training/trainer_options.hpp"

namespace plumbline {

inline constexpr const char* pipeline_program = "plumbline-pipeline";

/// Makes one transport per rank.
using TransportsFactory = std::function<std::vector<std::unique_ptr<Transport>>(int world, TransportSettings settings)>;

struct PipelineOptions : TrainerOptions {
  std::optional<std::string> schedule;   ///< overrides pipeline.schedule; CSV paths as given
  std::optional<std::string> transport;  ///< overrides pipeline.transport
  std::optional<int> world;              ///< --ranks; null: as many as the launcher started
  bool mixed_gpus = false;               ///< allow GPUs of different models
  TransportsFactory make_transports;     ///< replaces the `threads` transports, for tests
};

/// mpi, threads, and nccl in a build with CUDA.
std::vector<std::string> transports_of_this_build();

/// Whether an MPI launcher started this process.
bool started_by_a_launcher();

/// The options' transport, else the run file's. Throws InputError if the options contradict each other.
std::string chosen_transport(const PipelineOptions& options);

/// The run with the options applied; `recorded`: its steps are recorded. Throws InputError, also for a run that would
/// keep nothing.
Run load_job(const PipelineOptions& options, bool recorded);

TransportSettings transport_settings(const Run& run);
NcclSettings nccl_settings(const Run& run);

/// Reports an error that every rank detects (a wrong option, a broken run file) once, on rank 0 if started by an MPI
/// launcher, and returns its exit code. For errors before training.
int refuse(const PipelineOptions& options, const Error& error);

/// Trains and writes the record; with --ranks over MPI, by processes that this one starts. Returns the exit code. On a
/// failure all ranks return or are ended, and rank 0 (or the failed rank) prints the reason.
int train_pipeline(const PipelineOptions& options);

/// Trains with options.world ranks (default 1); on GPUs all of them share the first one. Returns the exit code and
/// prints the reason of a failure. Throws InputError before any rank has started.
int train_with_threads(const PipelineOptions& options);

/// Starts `ranks` processes of this program on this machine by mpirun, with the same arguments but --ranks, and waits
/// for them; more ranks than cores are allowed, root too. Returns mpirun's exit code, or 128 + the signal that ended
/// it. The first SIGINT, SIGTERM or SIGUSR1 reaches the ranks as SIGUSR1 (save and stop), the next SIGINT or SIGTERM
/// ends them. Throws InputError under a launcher or in a Slurm job, which set the number themselves; SystemError if
/// there is no mpirun that it knows.
int start_ranks(int ranks, const std::vector<std::string>& command);

}  // namespace plumbline
