// SPDX-License-Identifier: BSD-3-Clause
// The program `plumbline`: sweep, merge, judge, compare, baseline, bench, calibrate, report, doctor, schedule,
// record.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "command_line/command_line.hpp"
#include "harness/commands/baseline_command.hpp"
#include "harness/commands/bench_command.hpp"
#include "harness/commands/calibrate_command.hpp"
#include "harness/commands/compare.hpp"
#include "harness/commands/doctor.hpp"
#include "harness/commands/record_command.hpp"
#include "harness/commands/report_command.hpp"
#include "harness/commands/schedule_command.hpp"
#include "harness/commands/sweep_command.hpp"
#include "harness/sweep/run_commands.hpp"
#include "record/mesh.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plumbline;

int as_int(ExitCode code) {
  return static_cast<int>(code);
}

Json harness_json() {
  return {{"version", project_version()}, {"commit", source_commit().empty() ? Json(nullptr) : Json(source_commit())}};
}

/// If the trainers are absent (make judge, the wheel), the help begins with that.
std::string beside_text(const fs::path& folder) {
  if (!judge_alone(folder)) return "";
  return "Plumbline's trainers are not in this program's folder: it judges records, and sweeps commands of your own\n"
         "(docs/sweep-file.md). The sweep files in fixtures/sweeps and `calibrate` need them (make build).\n\n";
}

int write_ctest_resources(const fs::path& file, const fs::path& trainers) {
  const GpuCount gpus = count_gpus(trainers);
  write_json(file, ctest_resources(gpus.count));
  std::cout << file.string() << ": " << gpus.count << (gpus.count == 1 ? " GPU" : " GPUs")
            << (gpus.why_none.empty() ? "" : ": " + gpus.why_none) << "\n";
  return as_int(ExitCode::holds);
}

int doctor(const fs::path& trainers, bool json) {
  const Json findings = examine_machine(trainers);
  if (json)
    std::cout << json_text(findings, 2) << "\n";
  else
    print_text(doctor_text(findings));
  return as_int(findings.at("missing").empty() ? ExitCode::holds : ExitCode::harness_failure);
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "history")
    throw InputError("plumbline history was removed; docs/ci.md shows trends with other tools");
  CLI::App app{"Proves that a pipeline-parallel trainer computes the same bits as one device."};
  begin_command_line(app, "plumbline");
  app.set_version_flag("--version", version_text("plumbline"));
  app.require_subcommand(1);
  app.footer(beside_text(program_folder()) +
             help_end({"plumbline sweep fixtures/sweeps/default.toml", "plumbline sweep --help"},
                      {.zero = "holds, also in part", .one = "does not hold, or is unstable"}));

  const auto run_sweep = add_sweep_command(app, argv[0], program_folder(), harness_json());

  std::string reference, candidate;
  std::optional<fs::path> calibration;
  bool compare_json = false;
  std::optional<std::int64_t> replica;
  auto* compare_command = app.add_subcommand("compare", "Judge any two run records");
  compare_command->add_option("REFERENCE", reference, "The reference's record")->required();
  compare_command->add_option("CANDIDATE", candidate, "The record to judge")->required();
  compare_command
      ->add_option("--calibration", calibration,
                   "calibration.json of this run: compare values within its limits instead of in bits, where "
                   "bits cannot be equal (another device, another instruction set)")
      ->type_name("FILE.json");
  std::optional<fs::path> request;
  compare_command
      ->add_option("--request", request, "request.json: what the candidate was asked to do, which is then required")
      ->type_name("FILE.json");
  compare_command->add_option(
      "--replica", replica,
      "Which pipeline of each, where several trained in parallel (0, 1, ...); without it all are "
      "judged and compared with each other");
  compare_command->add_flag("--json", compare_json, "Print the verdict as JSON");
  std::optional<fs::path> compare_page;
  compare_command->add_option("--page", compare_page, "Folder to create, with a report of the comparison")
      ->type_name("DIR");
  compare_command->footer(help_end({"plumbline compare out/references/quick out/cells/quick-1f1b-w2 --json"},
                                   {.zero = "holds", .one = "does not hold"}));

  const auto run_judge = add_judge_command(app, harness_json());
  const auto run_merge = add_merge_command(app, harness_json());
  const auto run_report = add_report_command(app);

  fs::path doctor_trainers = program_folder();
  bool doctor_json = false;
  auto* doctor_command = app.add_subcommand("doctor", "What this machine offers a sweep, and what is missing");
  doctor_command->add_option("--trainers", doctor_trainers, "Folder of the trainers (default: this program's folder)")
      ->type_name("DIR");
  auto* as_json = doctor_command->add_flag("--json", doctor_json, "Print it as JSON");
  fs::path resources;
  doctor_command
      ->add_option("--ctest-resources", resources, "Find only the GPUs, and write them for ctest --resource-spec-file")
      ->type_name("FILE.json")
      ->excludes(as_json);
  doctor_command->footer(help_end({"plumbline doctor"},
                                  {.zero = "a sweep can run here", .three = "something is missing, which is listed"}));

  const auto run_baseline = add_baseline_command(app);
  const auto run_bench_command = add_bench_command(app, argv[0], program_folder(), harness_json());
  const auto run_schedule = add_schedule_command(app);
  const auto run_calibrate = add_calibrate_command(app, program_folder());
  const auto run_record = add_record_command(app);

  try {
    add_color_option(app);
    read_command_line(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? as_int(ExitCode::holds) : as_int(ExitCode::bad_input);
  }
  if (app.got_subcommand("sweep")) return run_sweep();
  if (*compare_command) {
    const auto chosen = [&](const fs::path& folder) { return replica ? replica_folder(folder, replica) : folder; };
    return compare(chosen(reference), chosen(candidate), compare_json, calibration, request, compare_page);
  }
  if (app.got_subcommand("judge")) return run_judge();
  if (app.got_subcommand("merge")) return run_merge();
  if (app.got_subcommand("report")) return run_report();
  if (app.got_subcommand("baseline")) return run_baseline();
  if (app.got_subcommand("bench")) return run_bench_command();
  if (app.got_subcommand("schedule")) return run_schedule();
  if (app.got_subcommand("calibrate")) return run_calibrate();
  if (app.got_subcommand("record")) return run_record();
  if (doctor_command->count("--trainers") > 0 && judge_alone(doctor_trainers))
    throw InputError(doctor_trainers.string() + ": holds neither " + reference_program + " nor " + pipeline_program);
  if (!resources.empty()) return write_ctest_resources(resources, doctor_trainers);
  return doctor(doctor_trainers, doctor_json);
}

}  // namespace

int main(int argc, char** argv) {
  return plumbline::run_main("plumbline", [&] { return run(argc, argv); });
}
