#include "pipeline/threads_job.hpp"

#include <ATen/Parallel.h>

#include <cstdio>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "pipeline/job.hpp"
#include "pipeline/transport/link.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "support/error.hpp"
#include "support/failure.hpp"
#include "support/machine_memory.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

/// What ranks take before their model: a thread with LibTorch's own state each, and the queues of every pair.
std::int64_t bytes_of_threads(std::int64_t world) {
  constexpr std::int64_t bytes_of_a_rank = std::int64_t{1} << 20;
  constexpr std::int64_t bytes_of_a_queue = 704;  // with the first block of its deque
  return sum_of_sizes({product_of_sizes({world, bytes_of_a_rank}),
                       product_of_sizes({world, world, std::int64_t{channels}, bytes_of_a_queue})});
}

}  // namespace

int train_with_threads(const PipelineOptions& options) {
  Session session = load_job(options);
  if (options.device == "cuda") {
    session.device = at::Device(at::kCUDA, 0);
    session.gpus = {load_gpu_module().device(0).name};
  }
  const int world = options.world.value_or(1);
  require_memory(bytes_of_threads(world), std::to_string(world) + " ranks as threads of one process");
  PipelinePlan plan = make_plan(session, world);
  prepare_device(session, memory_of_all(session, plan, world), "all " + std::to_string(world) + " ranks");
  plan.origin_ns = monotonic_ns();
  begin_record(options, session, plan);
  // What the process took of the GPU before its ranks belongs to the first of them, so that no byte of it is nobody's.
  MemoryMeter& before_ranks = this_thread_meter();
  auto transports = options.make_transports
                        ? options.make_transports(world, transport_settings(session))
                        : make_threads_transports(world, transport_settings(session), session.device);
  std::mutex lock;
  std::optional<ExitCode> failure;
  std::vector<std::jthread> threads;
  const auto train = [&](int rank) {
    Transport& transport = *transports[static_cast<std::size_t>(rank)];
    try {
      (rank == 0 && !session.device.is_cpu() ? before_ranks : new_memory_meter()).attach();
      at::set_num_threads(1);  // OpenMP keeps this number a thread
      const MemoryPlan need = memory_of(session, plan, rank);
      prepare_device(session, need, "rank " + std::to_string(rank));
      with_gpu_memory_words(memory_words(need, rank), [&] {
        RankTrainer trainer(session, plan, transport, options.record);
        train_rank(trainer, options.progress, [&] { connect(transport, session, plan); });
      });
      transport.finish();
    } catch (const std::exception& error) {
      const std::lock_guard guard(lock);
      // the first failure is the cause; the others only waited for this rank
      if (!failure) {
        failure = code_of(error);
        std::fprintf(stderr, "plumbline-pipeline: rank %d: %s\n", rank, describe_failure(error).words.c_str());
      }
      transport.abort(describe_failure(error).words);
    }
  };
  try {
    for (int rank = 0; rank < world; ++rank) threads.emplace_back(train, rank);
  } catch (const std::system_error& error) {
    const std::string words = "a thread for rank " + std::to_string(threads.size()) + " of " + std::to_string(world) +
                              " cannot be started: " + error.code().message() + "; take fewer ranks";
    {
      const std::lock_guard guard(lock);
      failure = ExitCode::harness_failure;
      std::fprintf(stderr, "plumbline-pipeline: %s\n", words.c_str());
    }
    for (const auto& transport : transports) transport->abort(words);
  }
  threads.clear();
  return static_cast<int>(failure.value_or(ExitCode::holds));
}

}  // namespace plumbline
