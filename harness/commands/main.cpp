// SPDX-License-Identifier: BSD-3-Clause
// The program `plumbline`: init, sweep, merge, judge, compare, calibrate, report, doctor, schedule, record.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/doctor.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plumbline;

Json harness_json() {
  return {{"version", project_version()}, {"commit", source_commit().empty() ? Json(nullptr) : Json(source_commit())}};
}

/// If the trainers are absent (make judge, the wheel), the help begins with that.
std::string absent_trainers_text(const fs::path& folder) {
  if (!judge_alone(folder)) return "";
  return "Plumbline's trainers are not in this program's folder: it judges records, and sweeps commands of your own\n"
         "(docs/sweep-file.md). The sweep files in fixtures/sweeps and `calibrate` need them (make build).\n\n";
}

int run(int argc, char** argv) {
  CLI::App app{"Checks that a pipeline-parallel trainer computes the same bits as one device."};
  begin_command_line(app, "plumbline");
  app.set_version_flag("--version", version_text("plumbline"));
  app.require_subcommand(1);
  app.footer(absent_trainers_text(program_folder()) +
             help_end({"plumbline sweep fixtures/sweeps/default.toml", "plumbline help sweep"},
                      {.zero = "holds, or holds in part", .one = "does not hold, or is unstable"}));

  const std::map<std::string, std::function<int()>> commands = {
      {"init", add_init_command(app, program_folder())},
      {"sweep", add_sweep_command(app, argv[0], program_folder(), harness_json())},
      {"compare", add_compare_command(app, harness_json())},
      {"judge", add_judge_command(app, harness_json())},
      {"merge", add_merge_command(app, harness_json())},
      {"report", add_report_command(app)},
      {"doctor", add_doctor_command(app, program_folder())},
      {"schedule", add_schedule_command(app)},
      {"calibrate", add_calibrate_command(app, program_folder())},
      {"record", add_record_command(app)}};
  add_color_option(app);
  if (!read_command_line(app, argc, argv)) return 0;
  return commands.at(app.get_subcommands().front()->get_name())();
}

}  // namespace

int main(int argc, char** argv) {
  return plumbline::run_main("plumbline", [&] { return run(argc, argv); });
}
