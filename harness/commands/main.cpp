// The program `plumbline`: sweep, judge, compare, calibrate, report, doctor, schedule, record.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>

#include "harness/commands/calibrate_command.hpp"
#include "harness/commands/compare.hpp"
#include "harness/commands/doctor.hpp"
#include "harness/commands/record_command.hpp"
#include "harness/commands/schedule_command.hpp"
#include "harness/judge/judge.hpp"
#include "harness/sweep/judge_again.hpp"
#include "harness/sweep/sweep.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "reports/headline.hpp"
#include "reports/report.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plumbline;

int as_int(ExitCode code) {
  return static_cast<int>(code);
}

/// The folder this program lies in: the trainers lie beside it.
fs::path own_folder() {
  std::error_code error;
  const auto self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : self.parent_path();
}

int list_cells(const fs::path& sweep_file) {
  for (const auto& cell : make_plan(read_sweep_file(sweep_file)).cells) std::cout << cell.plan.id << "\n";
  return as_int(ExitCode::holds);
}

SweepServices services() {
  return {judge_cell, write_reports, judge_reference};
}

Json harness_json() {
  return {{"version", project_version()}, {"commit", source_commit().empty() ? Json(nullptr) : Json(source_commit())}};
}

/// The last lines of a sweep: the verdict, what its data could not show, where the page is.
void say(const Verdict& verdict, const fs::path& folder) {
  std::string line = headline(verdict);
  const std::string word = verdict_word(verdict);
  std::transform(word.begin(), word.end(), line.begin(), [](unsigned char letter) { return std::toupper(letter); });
  if (!verdict.not_applicable.empty()) line += ", " + std::to_string(verdict.not_applicable.size()) + " cannot be";
  std::printf("%s\n%s\n", line.c_str(), claim(verdict).c_str());
  for (const auto& warning : warnings(verdict)) std::printf("warning: %s\n", warning.c_str());
  for (const auto& reference : verdict.references) {
    for (const auto& check : reference.checks) {
      if (!stands_in_the_way(check)) continue;
      std::printf("reference %s, %s %s: %s\n", reference.id.c_str(), check.name.c_str(), to_text(check.outcome).c_str(),
                  check.reason.c_str());
    }
  }
  std::printf("report: %s\n", (folder / "report.html").c_str());
}

int sweep(const SweepOptions& options) {
  const auto [folder, verdict] = run_sweep(options, services(), stderr);
  say(verdict, folder);
  return as_int(verdict.holds ? ExitCode::holds : ExitCode::does_not_hold);
}

int judge(const fs::path& folder) {
  const Verdict verdict = judge_again(folder, services(), harness_json(), stderr);
  std::printf("judged again from the records; nothing was run\n");
  say(verdict, folder);
  return as_int(verdict.holds ? ExitCode::holds : ExitCode::does_not_hold);
}

int report(const fs::path& folder) {
  write_reports(folder);
  std::printf(
      "written again from verdict.json; the records were not judged again (plumbline judge does that)\nreport: %s\n",
      (folder / "report.html").c_str());
  return as_int(ExitCode::holds);
}

int doctor(const fs::path& trainers, bool json, const fs::path& resources) {
  const Json findings = examine_machine(trainers);
  if (!resources.empty()) write_json(resources, ctest_resources(findings));
  std::cout << (json ? json_text(findings, 2) + "\n" : doctor_text(findings));
  return as_int(findings.at("missing").empty() ? ExitCode::holds : ExitCode::harness_failure);
}

int run(int argc, char** argv) {
  CLI::App app{"Proves that a pipeline-parallel trainer computes the same bits as one device."};
  app.name("plumbline");
  app.require_subcommand(1);
  app.footer(
      "Example: plumbline sweep fixtures/sweeps/default.toml\n"
      "Exit codes: 0 holds, 1 does not hold, 2 usage or input error, 3 the machine did not let us do the work.");

  SweepOptions options;
  options.program = argv[0];
  options.trainers = own_folder();
  options.harness = harness_json();
  std::string out;
  bool list = false;
  auto* sweep_command = app.add_subcommand("sweep", "Run the reference and the pipeline over a matrix, judge, report");
  sweep_command->add_option("sweep", options.sweep_file, "SWEEP.toml")->required();
  sweep_command->add_option("--out", out, "Folder for the results (default: reports/runs/<date>-<time>-<name>)");
  sweep_command->add_flag("--resume", options.resume, "Go on with the sweep that --out holds: finished cells are kept");
  sweep_command->add_option("--cells", options.cells, "Run only these cells, by id");
  sweep_command->add_flag("--list", list, "Print the cells' ids and run nothing");
  sweep_command->add_option("--trainers", options.trainers,
                            "Folder of plumbline-reference and plumbline-pipeline (default: beside this program)");
  sweep_command->footer(
      "Example: plumbline sweep fixtures/sweeps/default.toml --out /tmp/default\n"
      "         plumbline sweep fixtures/sweeps/default.toml --cells stories260k-adamw-1f1b-w4");

  std::string reference, candidate;
  std::optional<fs::path> calibration;
  bool compare_json = false;
  auto* compare_command = app.add_subcommand("compare", "Judge any two run records");
  compare_command->add_option("reference", reference, "The reference's record")->required();
  compare_command->add_option("candidate", candidate, "The record to judge")->required();
  compare_command->add_option("--calibration", calibration,
                              "calibration.json of this run: hold values within its limits instead of in bits, where "
                              "bits cannot be equal (another device, another instruction set)");
  std::optional<fs::path> request;
  compare_command->add_option("--request", request,
                              "request.json: what was asked of the candidate, which it is then held to");
  compare_command->add_flag("--json", compare_json, "Print the verdict as JSON");
  compare_command->footer("Example: plumbline compare out/references/quick out/cells/quick-1f1b-w2 --json");

  std::string folder;
  auto* judge_command = app.add_subcommand(
      "judge", "Judge a sweep's records again, without running anything, and write its report again");
  judge_command->add_option("folder", folder, "A sweep's folder, with its records and its sweep.json")->required();
  judge_command->footer("Example: plumbline judge reports/runs/latest");

  auto* report_command = app.add_subcommand(
      "report", "Write a sweep's report again from its verdict.json; judges nothing again (see: plumbline judge)");
  report_command->add_option("folder", folder, "A sweep's folder, with its verdict.json")->required();
  report_command->footer("Example: plumbline report reports/runs/latest");

  fs::path doctor_trainers = own_folder();
  bool doctor_json = false;
  auto* doctor_command = app.add_subcommand("doctor", "What this machine offers a sweep, and what stands in the way");
  doctor_command->add_option("--trainers", doctor_trainers, "Folder of the trainers (default: beside this program)");
  doctor_command->add_flag("--json", doctor_json, "Print it as JSON");
  fs::path resources;
  doctor_command->add_option("--ctest-resources", resources,
                             "Write this machine's GPUs for ctest --resource-spec-file");
  doctor_command->footer("Example: plumbline doctor");

  const auto run_schedule = add_schedule_command(app);
  const auto run_calibrate = add_calibrate_command(app, own_folder());
  const auto run_record = add_record_command(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? as_int(ExitCode::holds) : as_int(ExitCode::bad_input);
  }
  if (!out.empty()) options.out = out;
  options.other_trainers = sweep_command->count("--trainers") > 0;
  if (*sweep_command) return list ? list_cells(options.sweep_file) : sweep(options);
  if (*compare_command) return compare(reference, candidate, compare_json, calibration, request);
  if (*judge_command) return judge(folder);
  if (*report_command) return report(folder);
  if (app.got_subcommand("schedule")) return run_schedule();
  if (app.got_subcommand("calibrate")) return run_calibrate();
  if (app.got_subcommand("record")) return run_record();
  return doctor(doctor_trainers, doctor_json, resources);
}

}  // namespace

int main(int argc, char** argv) {
  return plumbline::run_main("plumbline", [&] { return run(argc, argv); });
}
