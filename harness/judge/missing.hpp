// SPDX-License-Identifier: BSD-3-Clause
// What of the claims that no case holds without was not compared, and why.
#pragma once

#include <vector>

#include "harness/judge/cell_judge.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Empty if a check fails, since the case does not hold then. `norm_diverged_at`: of JudgedChecks.
std::vector<Missing> missing_claims(const CellPlan& plan, const std::vector<CheckResult>& checks,
                                    const Manifest& reference, const Manifest& candidate,
                                    std::optional<std::int64_t> norm_diverged_at);

}  // namespace plumbline::judging
