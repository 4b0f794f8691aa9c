// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/judge_again.hpp"

#include "harness/sweep/kept_verdict.hpp"
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
  if (!verdict.holds && earlier) verdict.second_run = earlier->second_run;
  keep_verdict(folder, plan, verdict, services.version);
  return verdict;
}

}  // namespace

Verdict judge_again(const fs::path& path, const SweepServices& services, const Json& harness, std::FILE* log) {
  const SweepFolder folder(path);
  const KeptSweep sweep = read_kept_sweep(path / "sweep.json");
  SweepFindings findings;
  findings.not_run = reasons_of(folder);
  findings.otherwise = "the sweep ended before";
  for (const auto& reference : sweep.references())
    findings.references.push_back(folder.finished_launch("reference-" + reference.id));
  for (const auto& plan : sweep.cells) {
    if (const auto launch = folder.finished_launch(plan.id)) {
      findings.cells.push_back(judge_cell_again(plan, *launch, sweep, folder, services));
      print_text(plan.id + "  " + progress_words(findings.cells.back()) + "\n", log);
    } else if (const auto kept = kept_verdict(folder, plan, services.version)) {
      findings.cells.push_back(*kept);
      print_text(plan.id + "  its record was removed; its previous verdict stays\n", log);
    } else if (earlier_verdict(folder, plan.id)) {
      findings.not_run[plan.id] = "its record was removed, and another build of this program judged it";
    }
  }
  const Verdict verdict = sweep_verdict(sweep, findings, folder, services.judge_reference, harness);
  write_verdict(path / "verdict.json", verdict);
  services.write_reports(path);
  return verdict;
}

}  // namespace plumbline
