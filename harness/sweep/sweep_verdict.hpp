// SPDX-License-Identifier: BSD-3-Clause
// From what a sweep has found of its references and cells to the verdict on all of it; the same whether they were run
// just now or are judged again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/bench.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// Judges a reference's record alone.
using ReferenceJudge =
    std::function<std::vector<CheckResult>(const std::filesystem::path& record, const judging::BenchRequest& request)>;
std::vector<CheckResult> judge_reference(const std::filesystem::path& record, const judging::BenchRequest& request);

struct SweepFindings {
  std::vector<std::optional<LaunchFinding>> references;  ///< in the plan's order; nothing where it was not run
  std::vector<CellVerdict> cells;                        ///< of those that ended
  std::map<std::string, std::string> not_run;            ///< why, by cell
  std::string otherwise;                                 ///< why the others were not run
};

/// `judge` may be empty: then nothing is judged of references. `harness`: version and commit of this program.
Verdict sweep_verdict(const KeptSweep& sweep, const SweepFindings& findings, const SweepFolder& folder,
                      const ReferenceJudge& judge, const Json& harness);

}  // namespace plumbline
