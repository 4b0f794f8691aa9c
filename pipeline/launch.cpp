// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/launch.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <thread>

#include "pipeline/gpu_ranks.hpp"
#include "pipeline/job.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "record/writer.hpp"
#include "support/machine_memory.hpp"
#include "support/plain_text.hpp"
#include "support/text.hpp"
#include "training/action_log.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/memory_meter.hpp"
#include "training/run_file.hpp"

namespace plumbline {
namespace {

/// Looked up before main(): MPI_Init of a process without a launcher sets some of these.
const bool has_launcher = std::ranges::any_of(std::array{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"},
                                              [](const char* name) { return std::getenv(name) != nullptr; });

/// Collective on its first call.
bool one_host() {
  static const bool same = all_on_one_host();
  return same;
}

GpuApi real_gpu_api() {
  const auto cuda = reinterpret_cast<CudaApi* (*)()>(gpu_module_entry("plumbline_cuda_api"));
  const auto nccl = reinterpret_cast<NcclApi* (*)()>(gpu_module_entry("plumbline_nccl_api"));
  return {*cuda(), *nccl()};
}

/// Selects this rank's GPU; `ranks` in rank order.
void select_gpu(const PipelineOptions& options, const std::vector<RankGpus>& ranks, int rank, Run& run) {
  // A rank that sees no GPU has already recorded the reason; all ranks get it.
  if (std::ranges::any_of(ranks, [](const RankGpus& each) { return each.devices.empty(); })) return;
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  const bool nccl = run.pipeline.transport == "nccl";
  const std::string why_not = nccl ? why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()) : "";
  sharing.several_ranks_per_gpu = why_not.empty();
  std::vector<int> assigned;
  try {
    assigned = assign_gpus(ranks, sharing);
  } catch (const InputError& error) {
    throw InputError(error.what() + (why_not.empty() ? "" : ". " + why_not));
  }
  run.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(assigned.at(static_cast<std::size_t>(rank))));
  run.gpus = models_used(ranks, assigned);
  load_gpu_module().use(run.device.index());
}

/// Throws SystemError if the launcher belongs to another MPI. Its processes do not know each other: the first
/// prints the message; the others wait, since some launchers kill all processes as soon as one has failed.
void require_own_launcher(const Endpoint& endpoint) {
  const auto foreign = foreign_launcher(endpoint.world_size());
  if (!foreign) return;
  if (foreign->rank > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    std::_Exit(static_cast<int>(ExitCode::harness_failure));
  }
  throw SystemError(foreign->words);
}

/// Creates the transport: MPI, and on GPUs NCCL or host memory for the payloads. Collective: a rank that already failed
/// (`failure`, which this call may set) takes part, so that all ranks learn of it. `run`: null if it is not loaded.
std::unique_ptr<Transport> open_mpi_transport(const PipelineOptions& options, Run* run,
                                              std::optional<Failure>& failure) {
  TransportSettings settings = run != nullptr ? transport_settings(*run) : TransportSettings{};
  std::unique_ptr<Endpoint> endpoint = make_mpi_endpoint();
  require_own_launcher(*endpoint);
  if (options.device != "cpu") {
    const bool able = run != nullptr && !failure;
    const std::vector<RankGpus> ranks =
        exchange_gpus(*endpoint, able ? gpus_of_this_rank(load_gpu_module()) : RankGpus{}, settings.start_timeout);
    if (able) failure = failure_of([&] { select_gpu(options, ranks, endpoint->rank(), *run); });
  }
  std::optional<at::Device> staged;
  std::unique_ptr<NcclPayloads> nccl;
  if (run != nullptr && run->device.has_index()) {
    if (run->pipeline.transport == "nccl") {
      nccl = std::make_unique<NcclPayloads>(real_gpu_api(), endpoint->rank(), nccl_settings(*run));
    } else {
      staged = run->device;
    }
  }
  return std::make_unique<MessageTransport>(std::move(endpoint), settings, staged, std::move(nccl));
}

/// Runs this process as one rank of an MPI job. Collective; a rank that already failed (`failure`) calls it too, so
/// that all ranks learn of it, one prints it, and all exit. Returns the exit code.
int train_with_mpi(const PipelineOptions& options, std::optional<Failure> failure) {
  std::optional<Run> run;
  if (!failure) failure = failure_of([&] { run = load_job(options, !options.record.empty()); });
  if (run && run->recorded()) install_memory_meter();
  if (run) at::set_num_threads(static_cast<int>(run->train.threads));
  const auto transport = open_mpi_transport(options, run ? &*run : nullptr, failure);
  if (options.progress && run && transport->size() == 1 && !started_by_a_launcher()) {
    std::fprintf(stderr, "note: one rank, because no launcher started this program; --ranks 4 starts four\n");
  }
  const AlignedClock clock = align_clocks(*transport, one_host());
  return run_rank(options, run ? &*run : nullptr, failure, *transport, {clock, {{"mpi", mpi_version()}}});
}

/// Memory of the ranks in addition to their models: for each a thread with LibTorch's thread-local state, and the
/// queues of every pair.
std::int64_t bytes_of_threads(std::int64_t world) {
  constexpr std::int64_t bytes_of_a_rank = std::int64_t{1} << 20;
  constexpr std::int64_t bytes_of_a_queue = 704;  // with the first block of its deque
  return sum_of_sizes({product_of_sizes({world, bytes_of_a_rank}),
                       product_of_sizes({world, world, std::int64_t{channels}, bytes_of_a_queue})});
}

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
  for (const char* variable : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    const char* value = transport == "nccl" ? std::getenv(variable) : nullptr;
    const std::string why = value == nullptr ? "" : why_nccl_cannot_receive(value);
    if (!why.empty()) throw InputError(std::string(variable) + ": " + why);
  }
  return transport;
}

std::vector<std::string> transports_of_this_build() {
  std::vector<std::string> transports{"mpi", "threads"};
  if (has_gpu_module()) transports.push_back("nccl");
  return transports;
}

Run load_job(const PipelineOptions& options, bool recorded) {
  Run run = load_run(options, recorded);
  if (options.schedule) run.pipeline.schedule = *options.schedule;
  if (options.transport) run.pipeline.transport = *options.transport;
  return run;
}

TransportSettings transport_settings(const Run& run) {
  const std::chrono::milliseconds start(run.pipeline.start_timeout_ms);
  // A rank ends its own writing at the limit, between two tensors; the others wait for that.
  const std::chrono::milliseconds save = std::chrono::milliseconds(run.checkpoint.timeout_ms) + start;
  return {std::chrono::milliseconds(run.pipeline.timeout_ms), start, /*starting=*/true, save};
}

NcclSettings nccl_settings(const Run& run) {
  const bool host_reads_boundaries = run.recorded() && run.record_level >= RecordLevel::full;
  return {.device = run.device, .max_ctas = run.pipeline.max_ctas, .run_ahead = host_reads_boundaries ? 0 : 2};
}

int train_with_threads(const PipelineOptions& options) {
  Run run = load_job(options, !options.record.empty());
  if (run.recorded()) install_memory_meter();
  use_first_gpu(run);
  const int world = options.world.value_or(1);
  require_memory(bytes_of_threads(world), std::to_string(world) + " ranks as threads of one process");
  const PipelinePlan plan = make_plan(run, world);
  if (!options.record.empty()) require_new_record_folder(options.record);
  std::vector<int> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  prepare_device(run, memory_of(run, plan, ranks), "all " + std::to_string(world) + " ranks");
  if (!run.device.is_cpu()) {
    load_gpu_module().release_workspaces();  // this thread computes no more; each rank thread has its own
  }
  // GPU memory that the process allocated before its ranks is attributed to the first rank, so that every byte has an
  // owner.
  MemoryMeter& before_ranks = this_thread_meter();
  const auto transports = options.make_transports ? options.make_transports(world, transport_settings(run))
                                                  : make_threads_transports(world, transport_settings(run), run.device);
  std::atomic<int> code = 0;  // of the first rank that failed, or of all
  const auto ended_with = [&](int of_rank) {
    int none = 0;
    code.compare_exchange_strong(none, of_rank);
  };
  const AlignedClock clock{monotonic_ns(), 0};
  const auto train = [&](int rank) {
    (rank == 0 && !run.device.is_cpu() ? before_ranks : new_memory_meter()).attach();
    at::set_num_threads(static_cast<int>(run.train.threads));  // OpenMP keeps this number per thread
    Transport& transport = *transports[static_cast<std::size_t>(rank)];
    try {
      ended_with(run_rank(options, &run, std::nullopt, transport,
                          {clock, Json::object(), [&](ExitCode why) { ended_with(static_cast<int>(why)); }}));
    } catch (const std::exception& error) {  // the others did not answer
      ended_with(static_cast<int>(ExitCode::does_not_hold));
      transport.abort(describe_failure(error).words);
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (int rank = 0; rank < world; ++rank) threads.emplace_back(train, rank);
  } catch (const std::system_error& error) {
    const std::size_t missing = threads.size();
    ended_with(static_cast<int>(ExitCode::harness_failure));
    transports[missing]->abort("a thread for rank " + std::to_string(missing) + " of " + std::to_string(world) +
                                   " cannot be started: " + error.code().message() + "; take fewer ranks",
                               ExitCode::harness_failure);
  }
  threads.clear();
  return code;
}

int refuse(const PipelineOptions& options, const Error& error) {
  if (started_by_a_launcher()) return train_with_mpi(options, Failure{error.code(), error.what()});
  std::fprintf(stderr, "%s: %s\n", pipeline_program, printable_lines(error.what()).c_str());
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
