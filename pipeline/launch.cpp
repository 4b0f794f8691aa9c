// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/launch.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "pipeline/job.hpp"
#include "pipeline/start_ranks.hpp"
#include "support/plain_text.hpp"
#include "support/text.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/run_file.hpp"

namespace plumbline {

namespace {

/// Looked up before main(): MPI_Init of a process without a launcher sets some of these.
const bool has_launcher = std::ranges::any_of(std::array{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"},
                                              [](const char* name) { return std::getenv(name) != nullptr; });

}  // namespace

bool started_by_a_launcher() {
  return has_launcher;
}

std::string chosen_transport(const PipelineOptions& options) {
  if (options.run_file.empty()) {
    throw InputError("give a run file, with --record DIR or --checkpoint DIR; see --help");
  }
  std::string transport =
      options.transport
          ? *options.transport
          : load_run_file(options.run_file, options.text, options.checkpoint.assignments).pipeline.transport;
  const std::vector<std::string> known = transports_of_this_build();
  if (std::ranges::find(known, transport) == known.end()) {
    throw InputError("transport \"" + transport + "\" is not in this build; it has " + join(known, ", ") +
                     did_you_mean(transport, known) + (transport == "nccl" ? "; make cuda makes one that has it" : ""));
  }
  if (transport == "nccl" && options.device != "cuda") {
    throw InputError("transport nccl moves tensors between GPUs; give --device cuda with it");
  }
  return transport;
}

std::vector<std::string> transports_of_this_build() {
  std::vector<std::string> transports{"mpi", "threads"};
  if (has_gpu_module()) transports.push_back("nccl");
  return transports;
}

int refuse(const PipelineOptions& options, const Error& error) {
  if (started_by_a_launcher()) return train_with_mpi(options, Failure{error.code(), error.what()});
  std::fprintf(stderr, "%s: %s\n", options.program.c_str(), printable_lines(error.what()).c_str());
  return static_cast<int>(error.code());
}

int train_pipeline(const PipelineOptions& options) {
  std::string transport;
  try {
    transport = chosen_transport(options);
    if (options.world && transport != "threads") return start_ranks(*options.world, options.command);
    if (options.device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
    apply_deterministic_settings();
  } catch (const Error& error) {
    return refuse(options, error);
  }
  keep_freed_memory();
  if (transport == "threads") return train_with_threads(options);
  return train_with_mpi(options, std::nullopt);
}

}  // namespace plumbline
