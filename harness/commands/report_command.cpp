// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "command_line/command_line.hpp"
#include "harness/baseline/baseline_comparison.hpp"
#include "harness/baseline/take_baseline.hpp"
#include "harness/commands/commands.hpp"
#include "reports/report.hpp"
#include "reports/sweep_comparison.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  fs::path folder;
  std::optional<fs::path> compare;
  fs::path out = "comparison.html";
};

ValuesCompared compare_values(const fs::path& before, const fs::path& now) {
  try {
    const Baseline earlier = take_for_comparison(before, before.filename().string());
    const Baseline later = take_for_comparison(now, now.filename().string());
    return {baseline_result_from(to_json(compare_baselines(earlier, later))), ""};
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

/// The sweep's own page, as a link relative to the page `out`.
std::string link_to(const fs::path& sweep, const fs::path& out) {
  const fs::path page = sweep / "report.html";
  return path_exists(page) ? fs::absolute(page).lexically_relative(fs::absolute(out).parent_path()).generic_string()
                           : "";
}

int make_report(const ReportOptions& options) {
  if (options.compare) {
    write_file(options.out, comparison_page(options.folder, *options.compare, options.out));
    print_text("comparison: " + options.out.string() + "\n");
  } else {
    write_reports(options.folder);
    print_text("written again from verdict.json; the records were not rejudged (plumbline judge does that)\nreport: " +
               (options.folder / "report.html").string() + "\n");
  }
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::string comparison_page(const fs::path& before, const fs::path& now, const fs::path& out) {
  const Verdict earlier = read_verdict(before / "verdict.json"), later = read_verdict(now / "verdict.json");
  return make_comparison_page(earlier, later, compare_values(before, now), {link_to(before, out), link_to(now, out)});
}

std::function<int()> add_report_command(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  auto* command = app.add_subcommand(
      "report", "Write a sweep's report again from its verdict.json, without rejudging (see: plumbline judge)");
  command->add_option("SWEEP_DIR", options->folder, "A sweep's folder, with its verdict.json")->required();
  auto* compare =
      command->add_option("--compare", options->compare, "A later sweep's folder: write a page of what changed")
          ->type_name("DIR");
  command->add_option("--out", options->out, "File for the page of --compare")
      ->type_name("FILE.html")
      ->capture_default_str()
      ->needs(compare);
  command->footer(
      help_end({"plumbline report reports/runs/latest",
                "plumbline report reports/runs/before --compare reports/runs/latest --out comparison.html"}));
  return [options] { return make_report(*options); };
}

}  // namespace plumbline
