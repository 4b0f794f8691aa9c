// SPDX-License-Identifier: BSD-3-Clause
// What of a claim was not compared, from which step on, and why.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/judge/cell_plan.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Completes the result of a check. One that holds up to the step whose clip coefficients differ by the rounding of a
/// norm (`norm_diverged_at`, of JudgedChecks) becomes incomplete from there on.
void note_missing(const CellPlan& plan, const Record& reference, const Record& candidate,
                  std::optional<std::int64_t> norm_diverged_at, CheckResult& result);

}  // namespace plumbline::judging
