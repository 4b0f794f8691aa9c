// SPDX-License-Identifier: BSD-3-Clause
#include "training/prepare_device.hpp"

#include "training/gpu/gpu_module.hpp"
#include "training/gpu/gpu_start.hpp"
#include "training/precision.hpp"

namespace plumbline {

void use_first_gpu(TrainingRun& training) {
  if (training.run.device != "cuda") return;
  training.device = at::Device(at::kCUDA, 0);
  training.gpus = {load_gpu_module().device(0).name};
}

void prepare_device(const TrainingRun& training, const MemoryPlan& need, const std::string& owner) {
  if (training.device.is_cpu()) return require_memory(need, owner);
  GpuDevice device;
  explain_out_of_memory("the plan for " + owner + " is " + to_text(need), [&] {
    device = start_gpu(training.device, computed_type(training.run.train), training.recorded());
  });
  const GpuFreeMemory memory = load_gpu_module().free_memory(training.device.index());
  check_fits(need, memory.free_bytes, memory.total_bytes,
             owner + ", GPU " + std::to_string(training.device.index()) + " (" + device.name + ")");
}

}  // namespace plumbline
