// SPDX-License-Identifier: BSD-3-Clause
#include "reference/check.hpp"

#include "reference/accumulation.hpp"
#include "support/machine_memory.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/prepare_device.hpp"
#include "training/memory_plan.hpp"
#include "training/run_description.hpp"

namespace plumbline {

int check_reference(const ReferenceOptions& options, bool as_json) {
  return answer_check("plumbline-reference", options.run_file, as_json, [&](Json& answer) {
    if (options.device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
    apply_deterministic_settings();
    Run run = load_run(options, /*recorded=*/true);
    answer.update(describe_run(run));
    check_inputs(run, options.record);
    if (options.accumulation) {
      read_accumulation_order(*options.accumulation, run.config, run.batches.microbatches());
    }
    const MemoryPlan need = plan_one_device(run);
    answer["memory"] = {{"ranks", {need.total()}},
                        {"free", free_memory()},
                        {"limit", memory_limit()},
                        {"table", {memory_row("reference", need, need.total())}}};
    use_first_gpu(run);
    prepare_device(run, need, "the run");
    if (run.device.is_cpu()) require_free(need, free_memory(), "the machine");
  });
}

}  // namespace plumbline
