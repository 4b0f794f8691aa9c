// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/threads_job.hpp"

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdio>
#include <latch>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "pipeline/job.hpp"
#include "pipeline/job_record.hpp"
#include "pipeline/memory_check.hpp"
#include "pipeline/plan_text.hpp"
#include "pipeline/rank_memory.hpp"
#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/plain_text.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/memory_meter.hpp"
#include "training/prepare_device.hpp"
#include "training/run_summary.hpp"
#include "training/unrecorded_run.hpp"

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

int train_with_threads(PipelineOptions options) {
  TrainingRun training = load_job(options);
  if (training.recorded()) install_memory_meter();
  use_first_gpu(training);
  const int world = options.world.value_or(1);
  require_memory(bytes_of_threads(world), std::to_string(world) + " ranks as threads of one process");
  PipelinePlan plan = make_plan(training, world);
  std::vector<int> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  prepare_device(training, memory_of(training, plan, ranks), "all " + std::to_string(world) + " ranks");
  if (training.device.is_cpu()) {
    require_free_memory(std::vector(ranks.size(), own_machine()), training, plan);
  } else {
    load_gpu_module().release_workspaces();  // this thread computes no more; each rank thread has its own
  }
  plan.origin_ns = monotonic_ns();
  std::optional<UnrecordedRun> unrecorded;
  if (options.record.empty()) {
    options.record = make_unrecorded_folder();
    unrecorded.emplace(RankFolders(options.record), 0);
  }
  claim_record(options, plan);
  // GPU memory that the process allocated before its ranks is attributed to the first rank, so that every byte has an
  // owner.
  MemoryMeter& before_ranks = this_thread_meter();
  auto transports = options.make_transports
                        ? options.make_transports(world, transport_settings(training))
                        : make_threads_transports(world, transport_settings(training), training.device);
  std::mutex lock;
  std::optional<ExitCode> failure;  // the first failure is the cause; the other ranks only waited for that rank
  std::atomic<bool> trained = false;
  std::atomic<ExitCode> ended = ExitCode::holds;  // the same for all ranks
  const auto fail = [&](const std::string& prefix, const Failure& why) {
    const std::lock_guard guard(lock);
    if (failure) return false;
    failure = why.code;
    std::fprintf(stderr, "%s: %s%s\n", options.program.c_str(), prefix.c_str(), printable_lines(why.words).c_str());
    return true;
  };
  const auto failed = [&] {
    const std::lock_guard guard(lock);
    return failure.has_value() && !trained;
  };
  // Nothing is recorded until every rank has initialized its part of the model.
  std::latch made(world), begun(world);
  std::vector<TrainingRun> trainings;
  for (int replica = 0; replica < plan.replicas; ++replica) {
    trainings.push_back(run_of_replica(training, plan, replica));
  }
  const auto train = [&](int rank) {
    const TrainingRun& own = trainings[static_cast<std::size_t>(plan.replica_of(rank))];
    Transport& transport = *transports[static_cast<std::size_t>(rank)];
    const std::string prefix = "rank " + std::to_string(rank);
    const auto guarded = [&](const auto& body) {
      try {
        body();
      } catch (const std::exception& error) {
        const Failure why = describe_failure(error);
        // Only the first: if two fail at once, the other ranks must not quote the second.
        if (fail(prefix + ": ", {code_of(error), why.words})) transport.abort(why.words);
      }
    };
    std::optional<RankTrainer> trainer;
    guarded([&] {
      (rank == 0 && !training.device.is_cpu() ? before_ranks : new_memory_meter()).attach();
      at::set_num_threads(static_cast<int>(training.run.train.threads));  // OpenMP keeps this number per thread
      make_trainer(trainer, own, plan, transport, options.record);
    });
    made.arrive_and_wait();
    if (failed()) {  // checked again: a rank that woke up earlier may have failed meanwhile, and waits below
      begun.count_down();
      return;
    }
    guarded([&] {
      trainer->begin();
      if (rank != 0) return;
      begin_record(options, training, plan, {trainer->resumed_from()});
      if (options.progress) tell_start(plan_text(training, plan), training, options.record, trainer->resumed_from());
    });
    begun.arrive_and_wait();
    if (failed()) return;
    trained = true;
    guarded([&] {
      ended = train_rank(*trainer, own, plan, transport, options.progress);
      transport.finish();
    });
  };
  std::vector<std::jthread> threads;
  try {
    for (int rank = 0; rank < world; ++rank) threads.emplace_back(train, rank);
  } catch (const std::system_error& error) {
    const auto missing = static_cast<std::ptrdiff_t>(threads.size());
    fail("",
         {ExitCode::harness_failure, "a thread for rank " + std::to_string(missing) + " of " + std::to_string(world) +
                                         " cannot be started: " + error.code().message() + "; take fewer ranks"});
    made.count_down(world - missing);
  }
  threads.clear();
  if (unrecorded) unrecorded->remove_all();
  if (!trained) give_back_record_folder(options.record);
  const ExitCode code = failure.value_or(ended);
  if (code == ExitCode::holds && options.progress) tell_end(training, options.record);
  return static_cast<int>(code);
}

}  // namespace plumbline
