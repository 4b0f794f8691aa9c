// SPDX-License-Identifier: BSD-3-Clause
// Starts the ranks of a run, trains, and ends them: as MPI processes or as threads of this process.
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

/// Makes one transport per rank.
using TransportsFactory = std::function<std::vector<std::unique_ptr<Transport>>(int world, TransportSettings settings)>;

struct PipelineOptions {
  std::string program = "plumbline-pipeline";  ///< name of the started program, a prefix of error messages
  std::filesystem::path run_file;
  std::filesystem::path record;  ///< empty: no record
  CheckpointOptions checkpoint;
  std::optional<std::filesystem::path> text;  ///< overrides the run file's data
  std::optional<std::string> schedule;        ///< overrides pipeline.schedule; CSV paths as given
  std::optional<std::string> transport;       ///< overrides pipeline.transport
  std::optional<int> world;                   ///< --ranks; null: as many as the launcher started
  std::string device = "cpu";                 ///< cpu | cuda
  bool mixed_gpus = false;                    ///< allow GPUs of different models
  std::vector<std::string> command;
  bool progress = true;
  TransportsFactory make_transports;  ///< replaces the `threads` transports, for tests
};

/// mpi, threads, and nccl in a build with CUDA.
std::vector<std::string> transports_of_this_build();

/// Whether an MPI launcher started this process.
bool started_by_a_launcher();

/// The options' transport, else the run file's. Throws InputError if the options contradict each other.
std::string chosen_transport(const PipelineOptions& options);

/// Reports an error that every rank detects (a wrong option, a broken run file) once, on rank 0 if started by an MPI
/// launcher, and returns its exit code. For errors before training.
int refuse(const PipelineOptions& options, const Error& error);

/// Trains and writes the record; with --ranks over MPI, by processes that this one starts. Returns the exit code. On a
/// failure all ranks return or are ended, and rank 0 (or the failed rank) prints the reason.
int train_pipeline(const PipelineOptions& options);

}  // namespace plumbline
