// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "harness/commands/commands.hpp"
#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/run_commands.hpp"
#include "support/error.hpp"
#include "support/terminal.hpp"

namespace plumbline {

std::function<int()> add_calibrate_command(CLI::App& app, const std::filesystem::path& trainers) {
  const auto options = std::make_shared<CalibrateOptions>();
  options->trainers = trainers;
  auto* command = app.add_subcommand(
      "calibrate", "Measure how rounding changes a run, for a comparison within limits where bits cannot be equal");
  command->add_option("RUN.toml", options->run_file, "The run to compare within limits")->required();
  command->add_option("--record", options->folder, "Folder for the runs and calibration.json; empty or new")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--null", options->null_runs,
                   "Perturbed runs: references whose initial parameters are changed by at most one ULP; at least 20")
      ->capture_default_str();
  command
      ->add_option("--device", options->device,
                   "Device of the references: cpu or cuda (the float64 reference runs on the CPU)")
      ->check(one_of({"cpu", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("--accumulation", options->accumulation,
                   std::string("Order of summing gradients, as ").append(reference_program) + "'s")
      ->type_name("FILE.csv");
  command->add_flag("--resume", options->resume, "Continue the calibration in --record");
  command->add_option("--trainers", options->trainers, trainers_help())->type_name("DIR");
  command->footer(help_end(
      {"plumbline calibrate fixtures/runs/quick.toml --record records/calibration",
       std::string(pipeline_program) + " records/calibration/candidate.toml --ranks 2 --record records/candidate",
       "plumbline compare records/calibration/reference records/candidate --calibration "
       "records/calibration/calibration.json"},
      {.zero = "calibrated", .one = "perturbed runs exceed the largest limit there is, or a trainer crashed"}));
  return [options] {
    StopSignals signals;
    const judging::Calibration calibration = calibrate(*options, signals, stderr);
    print_text(calibration_text(calibration, options->folder));
    return static_cast<int>(null_runs_hold(calibration) ? ExitCode::holds : ExitCode::does_not_hold);
  };
}

}  // namespace plumbline
