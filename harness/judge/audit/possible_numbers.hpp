// SPDX-License-Identifier: BSD-3-Clause
// The demands on the numbers of a single record, for a record that is judged without a comparison.
#pragma once

#include <cstdint>
#include <map>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"

namespace plumbline::auditing {

/// Losses, gradient norms and tensors are finite; a Llama's losses are possible cross-entropies; an evaluation has a
/// row for each microbatch and for their sum, with the loss within the roundings of a sum; all evaluations use the same
/// data.
class PossibleNumbers {
 public:
  /// Call for all steps in order, beginning with the start.
  void step(const AuditedStep& audited, Audit& audit);

 private:
  bool finite_ = true;  ///< false from the first step with a non-finite number on; later ones are consequences
  std::map<std::int64_t, EvaluationRow> first_evaluation_;  ///< by microbatch
};

}  // namespace plumbline::auditing
