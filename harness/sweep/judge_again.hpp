// SPDX-License-Identifier: BSD-3-Clause
// `plumbline judge DIR`: rejudges the records of a sweep without running anything.
#pragma once

#include <cstdio>
#include <filesystem>

#include "harness/sweep/sweep.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Uses the plan in its sweep.json and the finding.json of each run. Cases that were not run remain so, and results of
/// failing cases' second runs are kept. A case whose record was removed keeps its verdict, if this program gave it.
/// Writes each cell.json, verdict.json and the reports, with a line per case to `log`. Throws InputError: the folder is
/// not a sweep, lacks a plan, or is in use.
Verdict judge_again(const std::filesystem::path& folder, const SweepServices& services, const Json& harness,
                    std::FILE* log);

}  // namespace plumbline
