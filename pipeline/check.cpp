// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/check.hpp"

#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "pipeline/gpu_ranks.hpp"
#include "pipeline/job.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/plan_text.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/run_description.hpp"

namespace plumbline {
namespace {

/// What the launcher tells this process about its job.
std::optional<int> told_by_launcher(std::array<const char*, 2> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    const auto number = value != nullptr ? parse_integer(value) : std::nullopt;
    if (number) return static_cast<int>(*number);
  }
  return std::nullopt;
}

/// Same assignment as select_gpu makes in a job, with all ranks on this machine.
void check_gpus(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan) {
  const int world = plan.world();
  const bool threads = training.run.pipeline.transport == "threads";
  const RankGpus seen = gpus_of_this_rank(load_gpu_module());
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  sharing.several_ranks_per_gpu =
      training.run.pipeline.transport != "nccl" || why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()).empty();
  std::vector<int> gpus(static_cast<std::size_t>(world), 0);
  if (!threads) gpus = assign_gpus(std::vector(gpus.size(), seen), sharing);
  for (int gpu = 0; gpu < static_cast<int>(seen.devices.size()); ++gpu) {
    std::vector<int> ranks;
    for (int rank = 0; rank < world; ++rank) {
      if (gpus[static_cast<std::size_t>(rank)] == gpu) ranks.push_back(rank);
    }
    if (ranks.empty()) continue;
    const GpuFreeMemory memory = load_gpu_module().free_memory(gpu);
    check_fits(memory_of(training, plan, ranks), memory.free_bytes, memory.total_bytes,
               "GPU " + std::to_string(gpu) + " (" + seen.devices[static_cast<std::size_t>(gpu)].name + ")");
  }
}

void ask(const PipelineOptions& options, int world, RunAnswer& answer) {
  chosen_transport(options);
  if (options.device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
  apply_deterministic_settings();
  TrainingRun training = load_for_plan(options);
  options.checkpoint.use_in(training, /*recorded=*/true);
  check_inputs(training, options.record, answer);
  const PipelinePlan plan = make_plan(training, world);
  answer.json["plan"] = plan_json(training, plan);
  answer.text += plan_text(training, plan) + "\n";
  for (const std::string& note : plan.notes) answer.text += "note: " + plan.schedule.name + ": " + note + "\n";

  std::vector<std::int64_t> each;
  for (int rank = 0; rank < world; ++rank) each.push_back(memory_of(training, plan, rank).total());
  answer.json["memory"] = {{"ranks", each}, {"free", free_memory()}, {"limit", memory_limit()}};
  answer.text += memory_table(training, world);
  if (options.device == "cuda") return check_gpus(options, training, plan);
  for (int rank = 0; rank < world; ++rank) {
    require_memory(memory_of(training, plan, rank), "rank " + std::to_string(rank));
  }
  // In a job on several machines, only the ranks that the launcher placed here are checked.
  const int here =
      options.world ? world : told_by_launcher({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(world);
  if (here == world) require_free_memory(std::vector(each.size(), own_machine()), training, plan);
}

}  // namespace

int check_pipeline(const PipelineOptions& options, bool as_json) {
  const int world = options.world.value_or(told_by_launcher({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1));
  if (!options.world && told_by_launcher({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}).value_or(0) != 0)
    return 0;  // rank 0 reports
  return answer_check(options.program, options.run_file, as_json,
                      [&](RunAnswer& answer) { ask(options, world, answer); });
}

}  // namespace plumbline
