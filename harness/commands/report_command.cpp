// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <memory>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "reports/report.hpp"
#include "support/error.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

int make_report(const fs::path& folder) {
  write_reports(folder);
  print_text("written again from verdict.json; the records were not rejudged (plumbline judge does that)\nreport: " +
             (folder / "report.html").string() + "\n");
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::function<int()> add_report_command(CLI::App& app) {
  const auto folder = std::make_shared<fs::path>();
  auto* command =
      app.add_subcommand("report", "Rewrite a sweep's report from its verdict.json (plumbline judge also rejudges)");
  command->add_option("SWEEP_DIR", *folder, "A sweep's folder, with its verdict.json")->type_name("DIR")->required();
  command->footer(help_end({"plumbline report reports/runs/latest"}));
  return [folder] { return make_report(*folder); };
}

}  // namespace plumbline
