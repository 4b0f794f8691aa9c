// SPDX-License-Identifier: BSD-3-Clause
// Builds a sweep's verdict from the results of its references and cases, for new and rejudged sweeps alike.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/data_coverage.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// Judges a reference's record alone.
using ReferenceJudge = std::function<std::vector<CheckResult>(const std::filesystem::path& record,
                                                              const judging::DataCoverageRequest& request)>;
std::vector<CheckResult> judge_reference(const std::filesystem::path& record,
                                         const judging::DataCoverageRequest& request);

struct SweepFindings {
  std::vector<std::optional<LaunchFinding>> references;  ///< in the plan's order; nullopt if not run
  std::vector<CellVerdict> cells;                        ///< of finished cases
  std::map<std::string, std::string> not_run;            ///< reason by case
  std::string otherwise;                                 ///< reason for all others that were not run
};

/// `judge` may be empty: references are then not judged. `harness`: version and commit of this program.
Verdict sweep_verdict(const KeptSweep& sweep, const SweepFindings& findings, const SweepFolder& folder,
                      const ReferenceJudge& judge, const Json& harness);

}  // namespace plumbline
