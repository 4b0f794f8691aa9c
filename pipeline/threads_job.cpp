// SPDX-License-Identifier: BSD-3-Clause

#include <ATen/Parallel.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "pipeline/job.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "training/action_log.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/memory_meter.hpp"
#include "training/prepare_device.hpp"

namespace plumbline {
namespace {

/// Memory of the ranks besides their models: a thread with LibTorch's thread-local state each, and the queues of every
/// pair.
std::int64_t bytes_of_threads(std::int64_t world) {
  constexpr std::int64_t bytes_of_a_rank = std::int64_t{1} << 20;
  constexpr std::int64_t bytes_of_a_queue = 704;  // with the first block of its deque
  return sum_of_sizes({product_of_sizes({world, bytes_of_a_rank}),
                       product_of_sizes({world, world, std::int64_t{channels}, bytes_of_a_queue})});
}

}  // namespace

int train_with_threads(const PipelineOptions& options) {
  TrainingRun training = load_job(options);
  if (training.recorded()) install_memory_meter();
  use_first_gpu(training);
  const int world = options.world.value_or(1);
  require_memory(bytes_of_threads(world), std::to_string(world) + " ranks as threads of one process");
  const PipelinePlan plan = make_plan(training, world);
  if (!options.record.empty()) require_new_record_folder(options.record);
  std::vector<int> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  prepare_device(training, memory_of(training, plan, ranks), "all " + std::to_string(world) + " ranks");
  if (!training.device.is_cpu()) {
    load_gpu_module().release_workspaces();  // this thread computes no more; each rank thread has its own
  }
  // GPU memory that the process allocated before its ranks is attributed to the first rank, so that every byte has an
  // owner.
  MemoryMeter& before_ranks = this_thread_meter();
  const auto transports = options.make_transports
                              ? options.make_transports(world, transport_settings(training))
                              : make_threads_transports(world, transport_settings(training), training.device);
  std::atomic<int> code = 0;  // of the first rank that failed, or of all
  const auto ended_with = [&](int of_rank) {
    int none = 0;
    code.compare_exchange_strong(none, of_rank);
  };
  const AlignedClock clock{monotonic_ns(), 0};
  const auto train = [&](int rank) {
    (rank == 0 && !training.device.is_cpu() ? before_ranks : new_memory_meter()).attach();
    at::set_num_threads(static_cast<int>(training.run.train.threads));  // OpenMP keeps this number per thread
    Transport& transport = *transports[static_cast<std::size_t>(rank)];
    try {
      ended_with(run_rank(options, training, std::nullopt, transport,
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

}  // namespace plumbline
