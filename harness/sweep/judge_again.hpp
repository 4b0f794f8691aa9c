// SPDX-License-Identifier: BSD-3-Clause
// `plumbline judge DIR`: the records of a sweep, judged again without running anything.
#pragma once

#include <cstdio>
#include <filesystem>

#include "harness/sweep/sweep.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// By the plan in its sweep.json and the finding.json of each run; cells that were not run stay so, and what came of a
/// failing cell's second run is kept. Writes cell.json of each cell, verdict.json and the reports anew, a line a cell
/// to `log`. Throws InputError: the folder is no sweep's, keeps no plan, or another plumbline works in it.
Verdict judge_again(const std::filesystem::path& folder, const SweepServices& services, const Json& harness,
                    std::FILE* log);

}  // namespace plumbline
