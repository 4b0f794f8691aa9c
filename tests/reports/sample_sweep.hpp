// SPDX-License-Identifier: BSD-3-Clause
// A small made-up sweep for the report's tests: a verdict and its evidence.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"
#include "reports/loss_plot.hpp"

namespace plumbline::testing {

CheckResult holding_check(const std::string& name);
/// A case with the fourteen checks, which all hold.
CellVerdict holding_cell(const std::string& model, const std::string& optimizer, const std::string& schedule,
                         std::int64_t world);
/// A reference that ended normally and whose only check, bench, holds; its id is "<model>-<optimizer>".
ReferenceVerdict finished_reference(const std::string& model, const std::string& optimizer);
/// Makes `check` of the case and the verdict fail, with a first divergence at step 1, microbatch 3, stage 2.
void break_check(Verdict& verdict, std::size_t cell, const std::string& check);
/// Gradients and parameters of the case are compared only up to steps 4 and 3; the user accepts that or not.
void leave_out(Verdict& verdict, std::size_t cell, bool accepted = false);
CheckResult& check_of(CellVerdict& cell, const std::string& name);

/// Two models x two optimizers x two schedules x world sizes 1..`worlds`, and four explicit balances, with their
/// references; all hold.
Verdict sample_verdict(std::int64_t worlds);
/// Losses and memory of every case, equal to the reference's and to the prediction.
Evidence sample_evidence(const Verdict& verdict, std::int64_t steps);
/// The timeline of a run without delays: 8 microbatches, each action 1 ms long.
MeasuredTimeline sample_timeline(const std::string& schedule, std::int32_t world);

}  // namespace plumbline::testing
