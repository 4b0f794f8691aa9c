// SPDX-License-Identifier: BSD-3-Clause
// Builds a sweep's verdict from the results of its references and cases, for new and rejudged sweeps.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/judge.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "record/launch_finding.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Judges a reference's record alone.
using ReferenceJudge =
    std::function<std::vector<CheckResult>(const std::filesystem::path& record, const judging::BenchRequest& request)>;
std::vector<CheckResult> judge_reference(const std::filesystem::path& record, const judging::BenchRequest& request);

/// Device, machine, versions and environment of a run, from its manifest; empty if that cannot be read.
Json machine_of(const std::filesystem::path& record);

struct SweepFindings {
  std::vector<std::optional<LaunchFinding>> references;  ///< in the plan's order; nullopt if not run
  std::vector<CellVerdict> cells;                        ///< of finished cases
  std::map<std::string, std::string> not_run;            ///< reason by case
  std::string otherwise;                                 ///< reason for all others that were not run
};

/// `judge` may be empty: references are then not judged. `harness`: version and commit of this program.
Verdict sweep_verdict(const KeptSweep& sweep, const SweepFindings& findings, const SweepFolder& folder,
                      const ReferenceJudge& judge, const Json& harness);

/// "the reference is not finite from step 1 on (loss nan; learning rate 1000000000)": from its steps.csv, the first
/// step whose loss or gradient norm is not finite, with the rate of the update before it. nullopt if all are finite, or
/// if the table cannot be read, which the judge reports.
std::optional<std::string> why_not_finite(const std::filesystem::path& record);

/// The functions of judge.hpp and reports/ that a sweep uses, replaceable in tests.
struct SweepServices {
  std::function<CellVerdict(const CellPlan&, const std::filesystem::path& reference,
                            const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& repeated)>
      judge;
  std::function<void(const std::filesystem::path& folder)> write_reports;
  ReferenceJudge judge_reference = nullptr;  ///< empty: references are not judged
  std::string version = "";  ///< XXH3-128 of the judging program: another one judges finished cases again
};

/// The record that a case is compared with: its reference's, or the one that replays the case's norms.
std::filesystem::path reference_of_case(const CellPlan& plan, const SweepFolder& folder);

/// Judges the runs of a case that have ended, whose findings the plan has.
CellVerdict judge_case(CellPlan plan, const SweepFolder& folder, const SweepServices& services);

}  // namespace plumbline
