// SPDX-License-Identifier: BSD-3-Clause
// Recomputation from a record's tables, at level full and, as far as no tensors are needed, at level summary; one step
// at a time.
#pragma once

#include <cstdint>
#include <map>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"

namespace plumbline::auditing {

/// Each row of steps.csv, exactly: the clip coefficient from norm and limit; the learning rate from its closed form;
/// the loss as the float32 sum of the microbatches' from left to right; tokens as their sums; the same norm on all
/// ranks.
void audit_step_rows(const AuditedStep& audited, Audit& audit);

/// Compares the gradient norm with the square root of the sum of squared `l2`, at 1e-10; for an external record that
/// clips, within the limit of norm_rounding.hpp.
void audit_norms_by_l2(const AuditedStep& audited, Audit& audit);

/// For step 0: compares `l2` and `max_abs` of the moments, which begin at 0, with those of the clipped gradient, within
/// the dtype's rounding and, if SGD adds decay, the decayed parameter's size. Not for external records.
void audit_first_moments(const AuditedStep& audited, Audit& audit);

/// Finds parameters and moments whose bits did not change in the step although by l2 and max_abs of their update they
/// must have. Not for external records.
void audit_still_tensors(const AuditedStep& audited, Audit& audit);

/// In mixed precision: the largest element of each copy is exactly its master's, rounded. Not for external records.
void audit_masters_by_rows(const AuditedStep& audited, Audit& audit);

/// Received tensors equal sent ones, with the right bytes; copies of a tied weight are equal.
void audit_copies(const AuditedStep& audited, Audit& audit);

/// The demands on the numbers of a record that is judged without a comparison: losses, gradient norms and tensors are
/// finite; a Llama's losses are possible cross-entropies; an evaluation has a row for each microbatch and for their
/// sum, with the loss within the roundings of a sum; all evaluations use the same data.
class PossibleNumbers {
 public:
  /// Call for all steps in order, beginning with the start.
  void step(const AuditedStep& audited, Audit& audit);

 private:
  bool finite_ = true;  ///< false from the first step with a non-finite number on; later ones are consequences
  std::map<std::int64_t, EvaluationRow> first_evaluation_;  ///< by microbatch
};

}  // namespace plumbline::auditing
