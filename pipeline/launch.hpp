// SPDX-License-Identifier: BSD-3-Clause
// Brings the ranks of a run up, trains, and brings them down: as MPI processes or as threads of this one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "support/error.hpp"
#include "training/checkpoint/checkpoint_options.hpp"

namespace plumbline {

/// Makes one transport a rank.
using TransportsFactory = std::function<std::vector<std::unique_ptr<Transport>>(int world, TransportSettings settings)>;

struct PipelineOptions {
  std::string program = "plumbline-pipeline";  ///< that was started: it signs what went wrong
  std::filesystem::path run_file;
  std::filesystem::path record;  ///< empty: none is kept
  CheckpointOptions checkpoint;
  std::optional<std::filesystem::path> text;    ///< replaces the run file's data
  std::optional<std::string> schedule;          ///< replaces pipeline.schedule; a name, or a CSV file from here
  std::optional<std::string> schedule_dialect;  ///< of the file: torch, torch-old, plumbline
  std::optional<std::string> transport;         ///< replaces pipeline.transport
  std::optional<int> world;                     ///< ranks, with --transport threads only
  std::string device = "cpu";                   ///< cpu | cuda
  bool mixed_gpus = false;                      ///< GPUs of different models may be used together
  std::vector<std::string> command;
  bool progress = true;
  TransportsFactory make_transports;  ///< in place of what `threads` stands for; for tests
};

/// mpi, threads and, in a build with the CUDA half, nccl.
std::vector<std::string> transports_of_this_build();

/// Whether an MPI launcher has started this process, so that there may be others like it.
bool started_by_a_launcher();

/// The options' transport, else the run file's. Throws InputError when the options do not go together.
std::string chosen_transport(const PipelineOptions& options);

/// Tells a fault that every rank finds for itself (a wrong option, a broken run file) once, and returns its exit code:
/// started by an MPI launcher, rank 0 alone says it. For the time before training.
int refuse(const PipelineOptions& options, const Error& error);

/// Trains and writes the record. Returns the exit code of this process: on a failure all ranks return or are ended, and
/// rank 0 (or the rank that failed) says why.
int train_pipeline(const PipelineOptions& options);

}  // namespace plumbline
