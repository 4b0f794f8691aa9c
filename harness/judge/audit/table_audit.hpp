// SPDX-License-Identifier: BSD-3-Clause
// What follows from a record's tables alone, at level full and, for what needs no tensors, at level summary; one step
// at a time.
#pragma once

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"

namespace plumbline::auditing {

/// Each row of steps.csv: the clip coefficient from norm and limit, exactly; the learning rate from its closed form,
/// exactly; the loss as the sum of the microbatches' from left to right in float32, exactly; tokens as their sums; one
/// norm on all ranks.
void audit_step_rows(const AuditedStep& audited, Audit& audit);

/// The gradient norm against the square root of the sum of `l2` squared, at 1e-10; that of an external record which
/// clips within the limit of norm_rounding.hpp.
void audit_norms_by_l2(const AuditedStep& audited, Audit& audit);

/// Of step 0: `l2` and `max_abs` of the moments, which begin at 0, against those of the clipped gradient: within the
/// dtype's rounding, and where SGD adds decay, within the decayed parameter's size. Not of an external record.
void audit_first_moments(const AuditedStep& audited, Audit& audit);

/// A parameter or moment whose bits are those of the step before, though by l2 and max_abs of what the step adds to it
/// they cannot be. Not of an external record.
void audit_still_tensors(const AuditedStep& audited, Audit& audit);

/// In mixed precision: the largest element of each copy, exactly, as its master's rounded. Not of an external record.
void audit_masters_by_rows(const AuditedStep& audited, Audit& audit);

/// What was received is what was sent, each with its bytes; copies of a tied weight are equal.
void audit_copies(const AuditedStep& audited, Audit& audit);

}  // namespace plumbline::auditing
