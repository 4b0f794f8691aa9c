#include "harness/commands/report_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "harness/baseline/compare_baselines.hpp"
#include "harness/baseline/take_baseline.hpp"
#include "reports/report.hpp"
#include "reports/sweep_comparison.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

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
    const Baseline earlier = take_baseline(before, before.filename().string());
    return {baseline_result_from(to_json(compare_baselines(earlier, take_baseline(now, now.filename().string())))), ""};
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

int make_report(const ReportOptions& options) {
  if (options.compare) {
    write_file(options.out, comparison_page(options.folder, *options.compare));
    std::printf("comparison: %s\n", options.out.c_str());
  } else {
    write_reports(options.folder);
    std::printf(
        "written again from verdict.json; the records were not judged again (plumbline judge does that)\nreport: %s\n",
        (options.folder / "report.html").c_str());
  }
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::string comparison_page(const fs::path& before, const fs::path& now) {
  const Verdict earlier = read_verdict(before / "verdict.json"), later = read_verdict(now / "verdict.json");
  return make_comparison_page(earlier, later, compare_values(before, now));
}

std::function<int()> add_report_command(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  auto* command = app.add_subcommand(
      "report", "Write a sweep's report again from its verdict.json; judges nothing again (see: plumbline judge)");
  command->add_option("folder", options->folder, "A sweep's folder, with its verdict.json")->required();
  auto* compare = command->add_option("--compare", options->compare,
                                      "Another sweep's folder, later than the first: write a page of what changed");
  command->add_option("--out", options->out, "Where the page of --compare goes")->capture_default_str()->needs(compare);
  command->footer(
      "Example: plumbline report reports/runs/latest\n"
      "         plumbline report reports/runs/before --compare reports/runs/latest --out comparison.html");
  return [options] { return make_report(*options); };
}

}  // namespace plumbline
