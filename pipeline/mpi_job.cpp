#include "pipeline/mpi_job.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pipeline/gpu_ranks.hpp"
#include "pipeline/job.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "pipeline/transport/mpi_link.hpp"
#include "pipeline/transport/nccl/nccl_transport.hpp"
#include "pipeline/transport/staged_payloads.hpp"
#include "support/failure.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"

namespace plumbline {
namespace {

Hindrance hindrance_in(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    const Failure failure = describe_failure(error);
    return {failure.words, failure.code};
  }
  return {};
}

/// Collective: whether any rank is kept from going on, and then the exit code for all. Most faults are found by every
/// rank, so rank 0 says the lowest rank's once; and it says it while the others wait for it, because mpirun ends the
/// rest of a job as soon as one rank has left with a failure.
std::optional<int> agree_to_stop(Transport& transport, const Hindrance& own) {
  std::string word = own.words.empty() ? "" : std::to_string(static_cast<int>(own.code)) + own.words;
  const std::vector<std::string> all = transport.gather(word);
  const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
  word.clear();
  if (first != all.end()) {
    const auto rank = first - all.begin();
    std::fprintf(stderr, "plumbline-pipeline: %s%s\n", rank > 0 ? ("rank " + std::to_string(rank) + ": ").c_str() : "",
                 first->c_str() + 1);
    std::fflush(stderr);
    word = first->substr(0, 1);
  }
  word = transport.broadcast(word);
  if (word.empty()) return std::nullopt;
  return std::stoi(word);
}

GpuApi real_gpu_api() {
  const auto cuda = reinterpret_cast<CudaApi* (*)()>(gpu_module_entry("plumbline_cuda_api"));
  const auto nccl = reinterpret_cast<NcclApi* (*)()>(gpu_module_entry("plumbline_nccl_api"));
  const auto segments = reinterpret_cast<AllocatorSegments* (*)()>(gpu_module_entry("plumbline_allocator_segments"));
  return {*cuda(), *nccl(), segments()};
}

/// This rank's GPU, from what all ranks see; `ranks` in rank order.
void take_gpu(const PipelineOptions& options, const std::vector<RankGpus>& ranks, int rank, Session& session) {
  // A rank that sees none has said why already, and says it to all.
  if (std::ranges::any_of(ranks, [](const RankGpus& each) { return each.devices.empty(); })) return;
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  const bool nccl = session.run.pipeline.transport == "nccl";
  const std::string why_not = nccl ? why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()) : "";
  sharing.several_ranks_per_gpu = why_not.empty();
  std::vector<int> assigned;
  try {
    assigned = assign_gpus(ranks, sharing);
  } catch (const InputError& error) {
    throw InputError(error.what() + (why_not.empty() ? "" : ". " + why_not));
  }
  session.device = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(assigned.at(static_cast<std::size_t>(rank))));
  session.gpus = models_used(ranks, assigned);
  load_gpu_module().use(session.device.index());
}

/// The ranks' messages over MPI, and on GPUs their payloads over NCCL or through host memory. Collective: a rank that
/// is kept from going on (`hindrance`, which this may add to) takes part, so that all hear of it.
std::unique_ptr<Transport> open_mpi_job(const PipelineOptions& options, Session* session, Hindrance& hindrance) {
  const TransportSettings settings = session != nullptr ? transport_settings(*session) : TransportSettings{};
  std::unique_ptr<Link> link = make_mpi_link({});
  if (options.device != "cpu") {
    const bool able = session != nullptr && hindrance.words.empty();
    const std::vector<RankGpus> ranks =
        exchange_gpus(*link, able ? visible_gpus(load_gpu_module()) : RankGpus{}, settings.start_timeout);
    if (able) hindrance = hindrance_in([&] { take_gpu(options, ranks, link->rank(), *session); });
  }
  const at::Device device = session != nullptr ? session->device : at::kCPU;
  if (!device.is_cpu() && session->run.pipeline.transport == "nccl") {
    NcclSettings nccl;
    nccl.device = device;
    return make_nccl_transport(std::move(link), real_gpu_api(), settings, nccl);
  }
  auto payloads = make_staged_payloads(*link, device);
  return std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads));
}

}  // namespace

int train_with_mpi(const PipelineOptions& options, Hindrance refusal) {
  std::optional<Session> session;
  if (refusal.words.empty()) refusal = hindrance_in([&] { session = load_job(options); });
  const auto transport = open_mpi_job(options, session ? &*session : nullptr, refusal);
  const auto leave = [&](int code) {
    transport->finish();
    return code;
  };
  if (const auto code = agree_to_stop(*transport, refusal)) return leave(*code);

  PipelinePlan plan;
  const bool one_clock = all_on_one_host();
  const Hindrance no_plan = hindrance_in([&] {
    plan = make_plan(*session, transport->world_size());
    if (transport->rank() == 0) begin_record(options, *session, plan, {{"mpi", mpi_version()}}, one_clock);
  });
  if (const auto code = agree_to_stop(*transport, no_plan)) return leave(*code);
  plan.origin_ns = std::stoll(transport->broadcast(std::to_string(monotonic_ns())));

  const MemoryPlan need = memory_of(*session, plan, transport->rank());
  const std::string words = memory_words(need, transport->rank());
  std::optional<RankTrainer> trainer;
  const Hindrance no_trainer = hindrance_in([&] {
    prepare_device(*session, need, "rank " + std::to_string(transport->rank()));
    with_gpu_memory_words(words, [&] { trainer.emplace(*session, plan, *transport, options.record); });
  });
  if (const auto code = agree_to_stop(*transport, no_trainer)) {
    trainer.reset();
    if (transport->rank() == 0) give_back_record_folder(options.record);
    return leave(*code);
  }
  try {
    with_gpu_memory_words(
        words, [&] { train_rank(*trainer, options.progress, [&] { connect(*transport, *session, plan); }); });
    transport->finish();
    return static_cast<int>(ExitCode::holds);
  } catch (const std::exception& error) {
    transport->abort(describe_failure(error).words, code_of(error));  // says why
    return static_cast<int>(code_of(error));
  }
}

}  // namespace plumbline
