// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/program.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "pipeline/check.hpp"
#include "pipeline/gpu_ranks.hpp"
#include "pipeline/job.hpp"
#include "schedule/schedule.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_capabilities.hpp"
#include "training/gpu/gpu_module.hpp"

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

}  // namespace

int run_pipeline_program(int argc, char** argv, TransportsFactory make_transports, const std::string& program) {
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
  options.program = program;
  bool capabilities = false;
  bool quiet = false;
  bool check = false;
  bool as_json = false;
  app.add_option("RUN.toml", options.run_file, "Run file: model, data, training, pipeline");
  app.add_option("--record", options.record, "Folder for the run record; must be empty or new")->type_name("DIR");
  options.checkpoint.add_to(app);
  app.add_option("--text", options.text, "Train on this UTF-8 file instead of the run file's data")->type_name("FILE");
  app.add_option("--schedule", options.schedule,
                 "Schedule instead of the run file's: " + join(schedule_names(), ", ") +
                     ", or a CSV file with a row for each rank, as torch.distributed.pipelining writes them")
      ->type_name("NAME");
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
