// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/compare.hpp"
#include "harness/commands/compare_sweeps.hpp"
#include "harness/judge/judge.hpp"
#include "record/mesh.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

/// A record may have a verdict next to it, and is a record.
bool is_sweep(const fs::path& folder) {
  return path_exists(folder / "verdict.json") && !path_exists(folder / "manifest.json");
}

int print_comparison(const SweepComparison& comparison) {
  print_text(to_text(comparison));
  if (!comparison.changes.empty()) return static_cast<int>(ExitCode::does_not_hold);
  return static_cast<int>(comparison.references == 0 ? ExitCode::harness_failure : ExitCode::holds);
}

}  // namespace

std::function<int()> add_compare_command(CLI::App& app, const Json& harness) {
  struct Given {
    fs::path reference, candidate;
    std::optional<fs::path> calibration, request, page;
    std::optional<std::int64_t> replica;
    std::vector<std::string> accept_missing;
    Printed printed = Printed::summary;
  };
  const auto given = std::make_shared<Given>();
  auto* command = app.add_subcommand("compare", "Judge any two run records, or say what changed between two sweeps");
  command->add_option("REFERENCE", given->reference, "The reference's record, or the folder of an earlier sweep")
      ->type_name("DIR")
      ->required();
  command->add_option("CANDIDATE", given->candidate, "The record to judge, or the folder of a later sweep")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--calibration", given->calibration,
                   "calibration.json of this run: compare values within its limits instead of in bits, where "
                   "bits cannot be equal (another device, another instruction set)")
      ->type_name("FILE.json");
  command->add_option("--request", given->request, "Check the candidate against this request.json (docs/request.md)")
      ->type_name("FILE.json");
  command->add_option(
      "--replica", given->replica,
      "Judge only this one of several pipelines that trained in parallel (0, 1, ...); otherwise all are "
      "judged and compared with each other");
  command
      ->add_option("--accept-missing", given->accept_missing,
                   "Claims that need not be compared in full: data, loss, gradients, parameters, buffers. What was "
                   "compared must not differ; the verdict names what was accepted")
      ->type_name("CLAIM,...")
      ->delimiter(',')
      ->check(CLI::IsMember(claims_of_every_case()));
  auto* all = command->add_flag_callback(
      "--all", [given] { given->printed = Printed::all; }, "Print every check, and texts in full");
  command
      ->add_flag_callback(
          "--json", [given] { given->printed = Printed::json; }, "Print the verdict as JSON")
      ->excludes(all);
  command->add_option("--page", given->page, "Folder for a report of the comparison; replaces an earlier one")
      ->type_name("DIR");
  command->footer(help_end({"plumbline compare out/references/quick out/cells/quick-1f1b-w2 --json",
                            "plumbline compare baselines/quick reports/runs/latest"},
                           {.zero = "holds; nothing changed",
                            .one = "does not hold, or was not compared in full; changed",
                            .three = "two sweeps without comparable bits (another machine or other runs)"}));
  return [given, harness, command] {
    if (is_sweep(given->reference) && is_sweep(given->candidate)) {
      constexpr std::size_t folders = 2;
      if (command->count_all() - 1 > folders)
        throw InputError("compare: two sweeps are compared without options; compare two records to use them");
      return print_comparison(compare_sweeps(given->reference, given->candidate));
    }
    const auto chosen = [&](const fs::path& folder) {
      return given->replica ? replica_folder(folder, given->replica) : folder;
    };
    return compare(chosen(given->reference), chosen(given->candidate), given->printed, given->calibration,
                   given->request, given->page, harness, given->accept_missing);
  };
}

}  // namespace plumbline
