// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "command_line/command_line.hpp"
#include "harness/bench/run_bench.hpp"
#include "harness/commands/commands.hpp"
#include "harness/sweep/run_commands.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::function<int()> add_bench_command(CLI::App& app, const std::string& program, const fs::path& trainers,
                                       const Json& harness) {
  const auto options = std::make_shared<BenchOptions>();
  options->sweep.program = program;
  options->sweep.trainers = trainers;
  options->sweep.harness = harness;
  auto* command = app.add_subcommand("bench", "Time a sweep file's cases and their references in turn; judges nothing");
  command->add_option("SWEEP.toml", options->sweep.sweep_file, "The sweep file whose cases are timed")->required();
  command
      ->add_option("--out", options->sweep.out,
                   "Folder for the results (default: reports/runs/<date>-<time>-<name>-bench)")
      ->type_name("DIR");
  command->add_option("--rounds", options->rounds, "Runs of each case, at least 2; six give intervals of 95 %")
      ->capture_default_str();
  command
      ->add_option("--quiet", options->quiet_limit,
                   "Relative difference allowed between two runs of a reference in a round")
      ->check(CLI::Range(0.001, 10.0))
      ->capture_default_str();
  command->add_option("--cells", options->sweep.cells, "Time only these cases: ids, or patterns with * and ? in quotes")
      ->type_name("PATTERNS")
      ->allow_extra_args(false);
  command->add_option("--trainers", options->sweep.trainers, trainers_help())->type_name("DIR");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print bench.json (Google Benchmark's form, for its compare.py), not the table");
  command->footer(help_end({"plumbline bench fixtures/sweeps/bench.toml --rounds 6"},
                           {.zero = "measured", .one = "a run failed; the others were measured"}));
  return [options, json] {
    const FinishedBench finished = run_bench(*options, stderr);
    if (*json)
      std::cout << json_text(google_benchmark_json(finished.result), 2) << "\n";
    else
      print_text(bench_lines(finished.result) + "results: " + finished.folder.string() + "\n");
    return static_cast<int>(finished.result.failed.empty() ? ExitCode::holds : ExitCode::does_not_hold);
  };
}

}  // namespace plumbline
