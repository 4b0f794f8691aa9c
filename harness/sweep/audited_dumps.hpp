// SPDX-License-Identifier: BSD-3-Clause
// Dumps that a sweep made for its own audit, which nobody needs once the audit holds.
#pragma once

#include <vector>

#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_plan.hpp"

namespace plumbline {

/// Removes the dumps of the cells that the key audit added, and of their references: those of a reference all of whose
/// cells hold. Dumps that a run file asks for stay, and those of failing cells. Throws SystemError.
void remove_audited_dumps(const SweepPlan& plan, const std::vector<CellVerdict>& verdicts, const SweepFolder& folder);

}  // namespace plumbline
