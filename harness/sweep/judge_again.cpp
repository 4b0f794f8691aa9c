// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/judge_again.hpp"

#include "harness/sweep/removed_records.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "reports/failing_cells.hpp"
#include "support/error.hpp"
#include "support/paths.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::optional<Request> request_in(const fs::path& launch) {
  return path_exists(launch / request_name) ? std::optional(read_request(launch / request_name)) : std::nullopt;
}

/// The earlier verdict's reasons for cases that were not run.
std::map<std::string, std::string> reasons_of(const SweepFolder& folder) {
  std::map<std::string, std::string> reasons;
  try {
    for (const auto& line : read_verdict(folder.path() / "verdict.json").not_run) {
      if (const auto colon = line.find(": "); colon != std::string::npos)
        reasons[line.substr(0, colon)] = line.substr(colon + 2);
    }
  } catch (const InputError&) {  // missing or invalid, which may be why the user rejudges
  }
  return reasons;
}

std::optional<CellVerdict> earlier_verdict(const SweepFolder& folder, const std::string& id) {
  try {
    return folder.finished_cell(id);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

CellVerdict judge_cell_again(CellPlan plan, const LaunchFinding& launch, const KeptSweep& sweep,
                             const SweepFolder& folder, const SweepServices& services) {
  plan.launch = launch;
  plan.reference_launch = folder.finished_launch("reference-" + plan.reference);
  plan.request = request_in(folder.launch(plan.id));
  plan.reference_request = request_in(folder.launch("reference-" + plan.reference));
  if (sweep.comparison_mode == ComparisonMode::calibrated)
    plan.calibration = folder.calibration(plan.reference) / "calibration.json";
  if (plan.repeat) plan.repeat_launch = folder.finished_launch("repeat-" + plan.id);
  CellVerdict verdict = judge_case(plan, folder, services);
  const auto earlier = earlier_verdict(folder, plan.id);
  if (!verdict.holds && earlier) {
    verdict.second_run = earlier->second_run;
    verdict.values = earlier->values;
  }
  folder.keep_cell(verdict);
  return verdict;
}

}  // namespace

Verdict judge_again(const fs::path& path, const SweepServices& services, const Json& harness, std::FILE* log) {
  const SweepFolder folder(path);
  const KeptSweep sweep = read_kept_sweep(path / "sweep.json");
  SweepFindings findings;
  findings.not_run = reasons_of(folder);
  findings.otherwise = "the sweep ended before";
  for (const auto& reference : sweep.references)
    findings.references.push_back(folder.finished_launch("reference-" + reference.id));
  for (const auto& plan : sweep.cells) {
    const auto launch = folder.finished_launch(plan.id);
    if (!launch) continue;
    if (record_was_removed(folder.cell(plan.id))) {
      if (const auto kept = earlier_verdict(folder, plan.id)) findings.cells.push_back(*kept);
      print_text(plan.id + "  its record was removed: the verdict is the one from before\n", log);
      continue;
    }
    findings.cells.push_back(judge_cell_again(plan, *launch, sweep, folder, services));
    const CellVerdict& cell = findings.cells.back();
    print_text(cell.id + "  " + progress_words(cell) + "\n", log);
  }
  const Verdict verdict = sweep_verdict(sweep, findings, folder, services.judge_reference, harness);
  write_verdict(path / "verdict.json", verdict);
  services.write_reports(path);
  return verdict;
}

}  // namespace plumbline
