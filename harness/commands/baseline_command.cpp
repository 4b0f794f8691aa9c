// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "harness/baseline/baseline_comparison.hpp"
#include "harness/baseline/take_baseline.hpp"
#include "harness/commands/commands.hpp"
#include "reports/report.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct BaselineOptions {
  fs::path folder = "baselines";
  std::string name;
  fs::path sweep = "reports/runs/latest";
  std::vector<std::string> allowed;
  std::string reason;
  bool json = false;
};

fs::path file_of(const BaselineOptions& options) {
  const bool plain =
      !options.name.empty() && options.name.front() != '.' && std::ranges::all_of(options.name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
      });
  if (!plain)
    throw InputError("\"" + options.name +
                     "\" is not a name of a baseline: give letters, digits, dots, dashes, underscores");
  return options.folder / (options.name + ".json");
}

Baseline kept(const BaselineOptions& options) {
  const fs::path file = file_of(options);
  if (!path_exists(file))
    throw InputError(file.string() + ": there is no such baseline; plumbline baseline list prints the existing ones");
  return read_baseline(file);
}

void keep(const BaselineOptions& options, const Baseline& baseline) {
  make_folder(options.folder);
  write_json(file_of(options), to_json(baseline));
  print_text("baseline " + baseline.name + ": " + quantity(std::ssize(baseline.references), "reference") + " and " +
             quantity(std::ssize(baseline.cells), "case") + " of sweep " + baseline.sweep + ", commit " +
             baseline.commit + "\n" + file_of(options).string() + "\n");
}

int save(const BaselineOptions& options) {
  if (path_exists(file_of(options)))
    throw InputError(file_of(options).string() + ": exists; plumbline baseline accept " + options.name + " " +
                     options.sweep.string() + " --reason TEXT replaces it");
  keep(options, take_baseline(options.sweep, options.name));
  return static_cast<int>(ExitCode::holds);
}

int list(const BaselineOptions& options) {
  std::vector<fs::path> files;
  if (folder_exists(options.folder))
    for (const auto& entry : fs::directory_iterator(options.folder))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  if (files.empty()) print_text("no baseline in " + options.folder.string() + "\n");
  for (const fs::path& file : files) {
    const Baseline baseline = read_baseline(file);
    std::string text = baseline.name + ": sweep " + baseline.sweep + ", " +
                       quantity(std::ssize(baseline.cells), "case") + ", " + baseline.taken + ", commit " +
                       baseline.commit + "\n";
    for (const AcceptedChange& change : baseline.accepted)
      text += "  accepted at " + change.commit + ": " + change.reason + " (" +
              quantity(std::ssize(change.changes), "change") + ")\n";
    print_text(text);
  }
  return static_cast<int>(ExitCode::holds);
}

int compare(const BaselineOptions& options) {
  std::set<ChangeKind> allowed;
  for (const std::string& kind : options.allowed) allowed.insert(parse_change_kind(kind));
  if (!allowed.empty() && options.reason.empty())
    throw InputError("--allow needs --reason TEXT: why these may change; it is kept with the result");
  BaselineComparison comparison = compare_baselines(kept(options), take_for_comparison(options.sweep, options.name));
  comparison.allowed = std::move(allowed);
  comparison.reason = options.reason;
  write_json(options.sweep / "baseline.json", to_json(comparison));
  if (path_exists(options.sweep / "report.html")) write_reports(options.sweep);  // its page says how they compare
  if (options.json)
    std::cout << json_text(to_json(comparison), 2) << "\n";
  else
    print_text(to_text(comparison));
  if (comparison.nothing() && comparison.red.empty()) return static_cast<int>(ExitCode::harness_failure);
  return static_cast<int>(comparison.holds() ? ExitCode::holds : ExitCode::does_not_hold);
}

int accept(const BaselineOptions& options) {
  const Baseline before = kept(options);
  Baseline now = take_baseline(options.sweep, options.name);
  const BaselineComparison comparison = compare_baselines(before, now);
  print_text(to_text(comparison));
  AcceptedChange change{now.commit, options.reason, {}};
  for (const BaselineChange& one : comparison.changes) change.changes.push_back(one.where + ": " + one.words);
  now.accepted = before.accepted;
  now.accepted.push_back(std::move(change));
  keep(options, now);
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::function<int()> add_baseline_command(CLI::App& app) {
  const auto options = std::make_shared<BaselineOptions>();
  auto* command = app.add_subcommand("baseline", "Save a sweep's results, and compare later sweeps with them");
  command->require_subcommand(1);
  command->footer(
      help_end({"plumbline baseline save release-1 reports/runs/latest", "plumbline baseline compare release-1"},
               {.zero = "done; equal, or changed as allowed",
                .one = "changed, or a case does not hold",
                .three = "nothing comparable"}));
  const auto add = [&](const char* name, const char* what) {
    auto* sub = command->add_subcommand(name, what);
    sub->add_option("--baselines", options->folder, "Folder of the baselines, to be committed")
        ->type_name("DIR")
        ->capture_default_str();
    return sub;
  };
  const auto add_named = [&](const char* name, const char* what) {
    auto* sub = add(name, what);
    sub->add_option("NAME", options->name, "Name of the baseline")->required();
    sub->add_option("SWEEP_DIR", options->sweep, "Folder of a finished sweep")->capture_default_str();
    return sub;
  };
  auto* save_command = add_named("save", "Save the results and resource use of a sweep that holds");
  auto* list_command = add("list", "List the baselines");
  auto* compare_command = add_named("compare", "Compare a sweep with a baseline: bits, bytes, cases and checks");
  const ExitWords takes = {.two = "no such sweep, or it does not hold; or the command line is wrong"};
  save_command->footer(help_end({"plumbline baseline save release-1 reports/runs/latest"}, takes));
  list_command->footer(help_end({"plumbline baseline list"}));
  compare_command->footer(help_end({"plumbline baseline compare release-1",
                                    "plumbline baseline compare release-1 reports/runs/latest --allow bytes --reason "
                                    "'the norm takes less memory'"},
                                   {.zero = "equal, or changed as allowed",
                                    .one = "changed, or a case does not hold",
                                    .three = "nothing comparable"}));
  compare_command->add_option("--allow", options->allowed, "A kind of change that is allowed")
      ->check(one_of({"bits", "bytes", "coverage"}))
      ->allow_extra_args(false);
  compare_command->add_option("--reason", options->reason, "Why it is allowed; kept with the result")->type_name("WHY");
  compare_command->add_flag("--json", options->json, "Print it as JSON");
  auto* accept_command = add_named("accept", "Replace a baseline by a sweep, and keep the reason");
  accept_command->footer(help_end(
      {"plumbline baseline accept release-1 reports/runs/latest --reason 'another order of summation'"}, takes));
  accept_command->add_option("--reason", options->reason, "Why this change is right; kept in the baseline")
      ->type_name("WHY")
      ->required();
  return [options, save_command, list_command, compare_command] {
    if (*save_command) return save(*options);
    if (*list_command) return list(*options);
    if (*compare_command) return compare(*options);
    return accept(*options);
  };
}

}  // namespace plumbline
