#include "pipeline/job_memory.hpp"

#include "pipeline/rank_memory.hpp"
#include "support/machine_memory.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/precision.hpp"

namespace plumbline {

MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, int rank) {
  return plan_rank_memory(training.config, plan.stages, plan.schedule.placement.stages_on(rank),
                          plan.schedule.ranks.at(static_cast<std::size_t>(rank)), training.plan, training.run.train);
}

MemoryPlan memory_of(const TrainingRun& training, const PipelinePlan& plan, const std::vector<int>& ranks) {
  MemoryPlan all;
  for (const int rank : ranks) {
    const MemoryPlan one = memory_of(training, plan, rank);
    for (const auto part :
         {&MemoryPlan::parameters, &MemoryPlan::gradients, &MemoryPlan::optimizer, &MemoryPlan::activations}) {
      all.*part = sum_of_sizes({all.*part, one.*part});
    }
  }
  return all;
}

std::string memory_plan_text(const MemoryPlan& need, int rank) {
  return "rank " + std::to_string(rank) + "'s plan is " + to_text(need);
}

void prepare_device(const TrainingRun& training, const MemoryPlan& need, const std::string& who) {
  if (training.device.is_cpu()) return require_memory(need, who);
  GpuDevice device;
  explain_out_of_memory("the plan for " + who + " is " + to_text(need),
                        [&] { device = start_gpu(training.device, computed_type(training.run.train)); });
  const GpuFreeMemory memory = load_gpu_module().free_memory(training.device.index());
  check_fits(need, memory.free_bytes, memory.total_bytes,
             who + ", GPU " + std::to_string(training.device.index()) + " (" + device.name + ")");
}

}  // namespace plumbline
