// SPDX-License-Identifier: BSD-3-Clause
// plumbline-reference: trains on one device.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "reference/check.hpp"
#include "reference/export.hpp"
#include "reference/trainer.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"

namespace {

using plumbline::ReferenceOptions;

int print_capabilities() {
  const plumbline::Json gpu = plumbline::gpu_capabilities();  // first: LibTorch caches whether CUDA is available
  plumbline::apply_deterministic_settings();
  std::cout << plumbline::json_text(plumbline::capabilities_json("plumbline-reference", gpu), 2) << '\n';
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Trains a Llama on one device, microbatch by microbatch, and records the tensors at every unit boundary: the "
      "reference that a pipeline is compared with.");
  app.footer(plumbline::help_end(
      {"plumbline-reference fixtures/runs/quick.toml --record records/reference",
       "plumbline-reference run.toml --checkpoint checkpoints --checkpoint-every 200 --resume latest"},
      {.zero = "trained",
       .one = "the run failed",
       .four = "stopped by a signal and saved: --resume latest continues"}));
  plumbline::begin_command_line(app, "plumbline-reference", "plumbline-reference RUN.toml [--record DIR] [OPTION...]");
  app.set_version_flag("--version", plumbline::version_text("plumbline-reference"));
  ReferenceOptions options;
  bool capabilities = false;
  bool quiet = false;
  bool check = false;
  bool as_json = false;
  std::filesystem::path exported;
  options.add_to(app, "model, data, training");
  app.add_option("--accumulation", options.accumulation,
                 "CSV (unit, microbatch[, group]): sum gradients in this order instead of ascending")
      ->type_name("FILE.csv");
  app.add_option("--device", options.device, "cpu, or cuda: the first GPU that CUDA_VISIBLE_DEVICES shows")
      ->check(plumbline::one_of({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--perturb", options.perturb,
                 "Perturb each element of the initial parameters by -1, 0 or +1 ULP, with this seed: an equivalent "
                 "change, whose effect plumbline calibrate measures");
  app.add_flag("--shadow", options.shadow, "Compute everything in float64, from the initial values in the run's dtype");
  app.add_flag(
      "!--without-split-backward", options.measure_split_backward,
      "Omit from saved.csv what the judge needs for schedules that split the backward pass (docs/record-format.md), "
      "and skip the pass over the first step that measures it");
  app.add_option(
         "--export", exported,
         "Train nothing: write ids, labels, initial weights and the order of accumulation into this folder, new "
         "or empty (docs/data.md)")
      ->type_name("DIR");
  auto* checks = app.add_flag("--check", check,
                              "Train nothing: report whether the run can begin here, what it would do, and its memory");
  app.add_flag("--json", as_json, "With --check: answer as JSON (docs/run-file.md)")->needs(checks);
  app.add_flag("--capabilities", capabilities, "Print what this build and machine can do, as JSON");
  app.add_flag("--quiet", quiet, "Print errors and warnings only");
  if (!plumbline::read_command_line(app, argc, argv)) return 0;
  if (capabilities) return print_capabilities();
  if (options.run_file.empty() || (!options.record.empty() && !exported.empty())) {
    throw plumbline::InputError(
        "give a run file, with --record DIR, --checkpoint DIR, --export DIR or --check; see --help");
  }
  if (options.shadow && options.perturb) {
    throw plumbline::InputError("--shadow and --perturb: give one of them, not both");
  }
  if (check) return plumbline::check_reference(options, as_json);
  if (!exported.empty()) {
    if (options.shadow || options.perturb || options.device != "cpu") {
      throw plumbline::InputError("--export writes what the run file gives: omit --shadow, --perturb and --device");
    }
    options.progress = !quiet;
    plumbline::export_run(options, exported);
    return 0;
  }
  options.command.assign(argv, argv + argc);
  options.progress = !quiet;
  return static_cast<int>(plumbline::train_reference(options));
}

}  // namespace

int main(int argc, char** argv) {
  return plumbline::exit_quickly(plumbline::run_main("plumbline-reference", [&] { return run(argc, argv); }));
}
