// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/mpi_job.hpp"

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
#include "pipeline/job_record.hpp"
#include "pipeline/memory_check.hpp"
#include "pipeline/plan_text.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "pipeline/transport/mpi_transport.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "support/plain_text.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/memory_meter.hpp"
#include "training/run_summary.hpp"
#include "training/unrecorded_run.hpp"

namespace plumbline {
namespace {

/// Collective. If any rank cannot continue, returns the exit code for all ranks. Most errors are detected by every
/// rank, so rank 0 prints only the lowest rank's, while the others wait: mpirun kills the rest of a job as soon as one
/// rank exits with a failure.
std::optional<int> agree_to_stop(Transport& transport, const std::string& program, const std::optional<Failure>& own) {
  std::string word = own ? std::to_string(static_cast<int>(own->code)) + own->words : "";
  const std::vector<std::string> all = transport.gather(word);
  const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
  word.clear();
  if (first != all.end()) {
    const auto rank = first - all.begin();
    std::fprintf(stderr, "%s: %s%s\n", program.c_str(), rank > 0 ? ("rank " + std::to_string(rank) + ": ").c_str() : "",
                 printable_lines(first->substr(1)).c_str());
    std::fflush(stderr);
    word = first->substr(0, 1);
  }
  word = transport.broadcast(word);
  if (word.empty()) return std::nullopt;
  return std::stoi(word);
}

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
  settings.several_hosts = !one_host();
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

int train_with_mpi(PipelineOptions options, std::optional<Failure> failure) {
  std::optional<TrainingRun> training;
  if (!failure) failure = failure_of([&] { training = load_job(options); });
  if (training && training->recorded()) install_memory_meter();
  if (training) at::set_num_threads(static_cast<int>(training->run.train.threads));
  const auto transport = open_mpi_job(options, training ? &*training : nullptr, failure);
  std::optional<UnrecordedRun> unrecorded;
  PipelinePlan plan;
  std::optional<RankTrainer> trainer;
  bool claimed = false;  // rank 0: whether this run owns the record folder
  // Collective. If any rank cannot continue, removes what the run created and returns the exit code on all ranks.
  const auto stopped = [&](const std::optional<Failure>& own) {
    std::optional<int> code;
    try {
      code = agree_to_stop(*transport, options.program, own);
    } catch (const std::exception& error) {  // a rank that waits in vain for the others records that
      if (trainer) note_failure(*trainer, error);
      if (unrecorded) unrecorded->remove_all();
      throw;
    }
    if (code) {
      trainer.reset();
      if (claimed) give_back_record_folder(options.record);
      transport->finish();
    }
    return code;
  };
  if (const auto code = stopped(failure)) return *code;
  if (options.progress && transport->size() == 1 && !started_by_a_launcher()) {
    std::fprintf(stderr, "note: one rank, because no launcher started this program; mpirun -n 4 %s starts four\n",
                 options.program.c_str());
  }

  const AlignedClock clock = align_clocks(*transport, one_host());
  std::optional<Failure> no_plan;
  if (options.record.empty()) {
    std::string folder;
    if (transport->rank() == 0) no_plan = failure_of([&] { folder = make_unrecorded_folder(); });
    options.record = transport->broadcast(folder);
    const std::int32_t replicas = training->run.pipeline.replicas;
    unrecorded.emplace(RankFolders(options.record, replicas > 1 ? transport->size() / replicas : 0),
                       transport->rank());
  }
  if (!no_plan) {
    no_plan = failure_of([&] {
      plan = make_plan(*training, transport->size());
      if (transport->rank() == 0) claim_record(options, plan);
      claimed = transport->rank() == 0;
    });
  }
  if (const auto code = stopped(no_plan)) return *code;
  plan.origin_ns = clock.origin;
  const auto no_memory = failure_of([&] {
    if (training->device.is_cpu()) require_free_memory_everywhere(*transport, *training, plan);
  });
  if (const auto code = stopped(no_memory)) return *code;

  training = run_of_replica(*training, plan, plan.replica_of(transport->rank()));
  const auto no_trainer = failure_of([&] { make_trainer(trainer, *training, plan, *transport, options.record); });
  if (const auto code = stopped(no_trainer)) return *code;
  const auto not_begun = failure_of([&] {
    trainer->begin();
    if (transport->rank() != 0) return;
    begin_record(options, *training, plan, {trainer->resumed_from(), {{"mpi", mpi_version()}}, clock.skew});
    if (!options.progress) return;
    tell_start(plan_text(*training, plan), *training, options.record, trainer->resumed_from());
  });
  if (const auto code = stopped(not_begun)) return *code;
  try {
    const ExitCode code = train_rank(*trainer, *training, plan, *transport, options.progress);
    unrecorded.reset();  // mpirun may end the ranks while they wait for each other to finish
    transport->finish();
    const bool tells = transport->rank() == 0 && options.progress && code == ExitCode::holds;
    if (tells) tell_end(*training, options.record);
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    if (unrecorded) unrecorded->remove_all();
    transport->abort(describe_failure(error).words, code_of(error));  // prints the reason
    return static_cast<int>(code_of(error));
  }
}

}  // namespace plumbline
