// SPDX-License-Identifier: BSD-3-Clause
// All checks, and what follows from their descriptors: which are required, and which cannot run because a recorder
// could not see the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/checks/checks.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Every checks/*_check.cpp has one: the build writes this function (cmake/PlumblineChecks.cmake).
std::vector<CheckDescriptor> list_of_checks();
/// By place.
const std::vector<CheckDescriptor>& all_checks();
/// Throws InputError naming the nearest.
const CheckDescriptor& check_of(const std::string& check);

bool is_selected(const CellPlan& plan, const std::string& check);
/// True if the user accepts that this claim was not compared in full.
bool accepted(const CellPlan& plan, const std::string& claim);
/// True if a case of this plan does not hold while the check is incomplete. `own`: both records are of our own trainers
/// at level full, which lack nothing.
bool is_required(const CellPlan& plan, const CheckDescriptor& check, bool own);
/// "the recorder could not see receives: torch 2.16.0 has no get_fwd_recv_ops": what the check needs and the records
/// lack, with their reasons. Empty if nothing is missing. `could_compare`: the same for rows that the check can do
/// without.
std::string why_not_recorded(const CheckDescriptor& check, const Manifest& reference, const Manifest& candidate,
                             bool could_compare);

// Which part of a claim was not compared, from which step on, and why.

/// Completes the result of a check. One that holds up to the step whose clip coefficients differ by the rounding of a
/// norm (`norm_diverged_at`, of JudgedChecks) becomes incomplete from there on.
void note_missing(const CellPlan& plan, const Record& reference, const Record& candidate,
                  std::optional<std::int64_t> norm_diverged_at, CheckResult& result);

}  // namespace plumbline::judging
