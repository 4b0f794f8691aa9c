// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/program.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "pipeline/gpu_ranks.hpp"
#include "pipeline/memory.hpp"
#include "schedule/schedule.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/run_description.hpp"

namespace plumbline {
namespace {

int print_capabilities() {
  Json gpu = gpu_capabilities();  // first: LibTorch caches whether CUDA is available
  apply_deterministic_settings();
  if (gpu.value("usable", false)) {
    const std::string why = why_nccl_needs_one_gpu_a_rank_here(load_gpu_module());
    gpu["why_not_two_ranks_on_one_gpu"] = why.empty() ? Json(nullptr) : Json(why);
  }
  const Json own{{"transports", transports_of_this_build()}, {"schedules", schedule_names()}};
  std::cout << json_text(capabilities_json("plumbline-pipeline", gpu, own), 2) << '\n';
  return 0;
}

/// The first of these variables of an MPI launcher that this process has.
std::optional<int> launcher_number(std::array<const char*, 2> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    const auto number = value != nullptr ? parse_integer(value) : std::nullopt;
    if (number) return static_cast<int>(*number);
  }
  return std::nullopt;
}

/// Same assignment as select_gpu makes in a job, with all ranks on this machine.
void check_gpus(const PipelineOptions& options, const Run& run, const PipelinePlan& plan) {
  const int world = plan.world();
  const bool threads = run.pipeline.transport == "threads";
  const RankGpus seen = gpus_of_this_rank(load_gpu_module());
  GpuSharing sharing;
  sharing.mixed_models = options.mixed_gpus;
  sharing.several_ranks_per_gpu =
      run.pipeline.transport != "nccl" || why_nccl_needs_one_gpu_a_rank_here(load_gpu_module()).empty();
  std::vector<int> gpus(static_cast<std::size_t>(world), 0);
  if (!threads) gpus = assign_gpus(std::vector(gpus.size(), seen), sharing);
  for (int gpu = 0; gpu < static_cast<int>(seen.devices.size()); ++gpu) {
    std::vector<int> ranks;
    for (int rank = 0; rank < world; ++rank) {
      if (gpus[static_cast<std::size_t>(rank)] == gpu) ranks.push_back(rank);
    }
    if (ranks.empty()) continue;
    const GpuFreeMemory memory = load_gpu_module().free_memory(gpu);
    check_fits(memory_of(run, plan, ranks), memory.free_bytes, memory.total_bytes,
               "GPU " + std::to_string(gpu) + " (" + seen.devices[static_cast<std::size_t>(gpu)].name + ")");
  }
}

void ask(const PipelineOptions& options, int world, Json& answer) {
  chosen_transport(options);
  if (options.device == "cuda") open_gpus();  // must precede any call that makes LibTorch look for CUDA
  apply_deterministic_settings();
  const Run run = load_job(options, /*recorded=*/true);
  answer.update(describe_run(run));
  check_inputs(run, options.record);
  const PipelinePlan plan = make_plan(run, world);
  answer["plan"] = plan_json(run, plan);

  std::vector<std::int64_t> each;
  for (int rank = 0; rank < world; ++rank) each.push_back(memory_of(run, plan, rank).total());
  answer["memory"] = {
      {"ranks", each}, {"free", free_memory()}, {"limit", memory_limit()}, {"table", memory_table(run, world)}};
  if (options.device == "cuda") return check_gpus(options, run, plan);
  for (int rank = 0; rank < world; ++rank) {
    require_free(memory_of(run, plan, rank), free_memory(), "rank " + std::to_string(rank));
  }
  // In a job on several machines, only the ranks that the launcher placed here are checked.
  const int here =
      options.world ? world : launcher_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(world);
  if (here == world) require_free_memory(std::vector(each.size(), own_machine()), run, plan);
}

/// Checks whether the run could start on this machine with `options.world` ranks (default: the launcher's number, else
/// 1). Does not train and needs no launcher. Returns the exit code.
int check_pipeline(const PipelineOptions& options, bool as_json) {
  const int world = options.world.value_or(launcher_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1));
  if (!options.world && launcher_number({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}).value_or(0) != 0)
    return 0;  // rank 0 reports
  return answer_check(pipeline_program, options.run_file, as_json, [&](Json& answer) { ask(options, world, answer); });
}

}  // namespace

int run_pipeline_program(int argc, char** argv, TransportsFactory make_transports) {
  CLI::App app("Trains a Llama on the ranks of a pipeline and records the tensors at each stage boundary.");
  app.footer(help_end(
      {"plumbline-pipeline fixtures/runs/quick.toml --ranks 4 --record records/pipeline",
       "plumbline-pipeline fixtures/runs/quick.toml --transport threads --ranks 4 --record records/pipeline",
       "plumbline-pipeline fixtures/runs/quick.toml --ranks 2 --schedule fixtures/schedules/zbv-p2-m4.csv --record "
       "records/zbv",
       "plumbline-pipeline run.toml --ranks 2 --checkpoint checkpoints --checkpoint-every 200 --resume latest"},
      {.zero = "trained",
       .one = "the run failed: a rank crashed, or a message did not arrive",
       .four = "stopped by a signal and saved: --resume latest continues"}));
  begin_command_line(app, "plumbline-pipeline", "plumbline-pipeline RUN.toml [--ranks N] [--record DIR] [OPTION...]");
  app.set_version_flag("--version", version_text("plumbline-pipeline"));
  PipelineOptions options;
  bool capabilities = false;
  bool quiet = false;
  bool check = false;
  bool as_json = false;
  options.add_to(app, "model, data, training, pipeline");
  offer(app.add_option("--schedule", options.schedule,
                       "Schedule instead of the run file's: " + join(schedule_names(), ", ") +
                           ", or a CSV file with a row for each rank, as torch.distributed.pipelining writes them")
            ->type_name("NAME"),
        schedule_names());
  app.add_option("--transport", options.transport, "Transport instead of the run file's")
      ->type_name("TEXT:{" + join(transports_of_this_build(), ",") + "}");
  app.add_option("--ranks", options.world,
                 "Start this many ranks on this machine, with mpirun or (--transport threads) in this process; not "
                 "under mpirun or srun, which set the number themselves. With --check: ranks to check")
      ->check(CLI::Range(1, INT32_MAX));
  app.add_option("--device", options.device,
                 "cpu, or cuda: each rank uses a GPU of its node; with --transport threads all ranks use the first")
      ->check(one_of({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_flag("--mixed-gpus", options.mixed_gpus,
               "Allow GPUs of different models, whose bits may differ: compare with plumbline compare --calibration");
  auto* checks = app.add_flag(
      "--check", check,
      "Train nothing: report whether the run can begin here, on this many --ranks, what it would do, and the "
      "memory that it needs on one device and on 1 to 8 ranks");
  app.add_flag("--json", as_json, "With --check: answer as JSON (docs/run-file.md)")->needs(checks);
  app.add_flag("--capabilities", capabilities, "Print what this build and machine can do, as JSON");
  app.add_flag("--quiet", quiet, "Print errors and warnings only");
  try {
    if (!read_command_line(app, argc, argv)) return 0;
  } catch (const InputError& error) {
    return refuse(options, error);
  }
  if (capabilities) return print_capabilities();
  if (check) {
    if (options.run_file.empty()) return refuse(options, InputError("--check: give a run file; see --help"));
    return check_pipeline(options, as_json);
  }
  options.command.assign(argv, argv + argc);
  options.progress = !quiet;
  options.make_transports = std::move(make_transports);
  return train_pipeline(options);
}

}  // namespace plumbline
