// SPDX-License-Identifier: BSD-3-Clause

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "pipeline/clock_alignment.hpp"
#include "pipeline/gpu_ranks.hpp"
#include "pipeline/job.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

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
void select_gpu(const PipelineOptions& options, const std::vector<RankGpus>& ranks, int rank, TrainingRun& training) {
  // A rank that sees no GPU has already recorded the reason; all ranks get it.
  if (std::ranges::any_of(ranks, [](const RankGpus& each) { return each.devices.empty(); })) return;
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  const bool nccl = training.run.pipeline.transport == "nccl";
  const std::string why_not = nccl ? why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()) : "";
  sharing.several_ranks_per_gpu = why_not.empty();
  std::vector<int> assigned;
  try {
    assigned = assign_gpus(ranks, sharing);
  } catch (const InputError& error) {
    throw InputError(error.what() + (why_not.empty() ? "" : ". " + why_not));
  }
  training.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(assigned.at(static_cast<std::size_t>(rank))));
  training.gpus = models_used(ranks, assigned);
  load_gpu_module().use(training.device.index());
}

/// Throws SystemError if the launcher belongs to another MPI. Of its processes, which do not know each other, the first
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
/// (`failure`, which this call may set) takes part, so that all ranks learn of it.
std::unique_ptr<Transport> open_mpi_job(const PipelineOptions& options, TrainingRun* training,
                                        std::optional<Failure>& failure) {
  TransportSettings settings = training != nullptr ? transport_settings(*training) : TransportSettings{};
  std::unique_ptr<Endpoint> endpoint = make_mpi_endpoint();
  require_own_launcher(*endpoint);
  if (options.device != "cpu") {
    const bool able = training != nullptr && !failure;
    const std::vector<RankGpus> ranks =
        exchange_gpus(*endpoint, able ? gpus_of_this_rank(load_gpu_module()) : RankGpus{}, settings.start_timeout);
    if (able) failure = failure_of([&] { select_gpu(options, ranks, endpoint->rank(), *training); });
  }
  std::optional<at::Device> staged;
  std::unique_ptr<NcclPayloads> nccl;
  if (training != nullptr && !training->device.is_cpu()) {
    if (training->run.pipeline.transport == "nccl") {
      nccl = std::make_unique<NcclPayloads>(real_gpu_api(), endpoint->rank(), nccl_settings(*training));
    } else {
      staged = training->device;
    }
  }
  return std::make_unique<MessageTransport>(std::move(endpoint), settings, staged, std::move(nccl));
}

}  // namespace

int train_with_mpi(const PipelineOptions& options, std::optional<Failure> failure) {
  std::optional<TrainingRun> training;
  if (!failure) failure = failure_of([&] { training = load_job(options); });
  if (training && training->recorded()) install_memory_meter();
  if (training) at::set_num_threads(static_cast<int>(training->run.train.threads));
  const auto transport = open_mpi_job(options, training ? &*training : nullptr, failure);
  if (options.progress && training && transport->size() == 1 && !started_by_a_launcher()) {
    std::fprintf(stderr, "note: one rank, because no launcher started this program; --ranks 4 starts four\n");
  }
  const AlignedClock clock = align_clocks(*transport, one_host());
  return run_rank(options, std::move(training), failure, *transport, {clock, {{"mpi", mpi_version()}}});
}

}  // namespace plumbline
