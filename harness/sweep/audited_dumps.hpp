// SPDX-License-Identifier: BSD-3-Clause
// Removal of dumps that a sweep made for the check audit, once it holds.
#pragma once

#include <vector>

#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

/// Removes the dumps of cases that the key audit added, and of references all of whose cases hold. Keeps dumps that a
/// run file requests, and those of failing cases. Throws SystemError.
void remove_audited_dumps(const SweepPlan& plan, const std::vector<CellVerdict>& verdicts, const SweepFolder& folder);

}  // namespace plumbline
