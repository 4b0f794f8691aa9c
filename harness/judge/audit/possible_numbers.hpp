// SPDX-License-Identifier: BSD-3-Clause
// What the checks of a comparison demand of each record's numbers by themselves, for a record that is looked at alone.
#pragma once

#include <cstdint>
#include <map>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"

namespace plumbline::auditing {

/// Losses, gradient norms and tensors are finite; a Llama's loss can be a cross-entropy; an evaluation has a row of
/// each microbatch and of their sum, the loss within the roundings of a sum; and every evaluation is of the same data.
class PossibleNumbers {
 public:
  /// The steps in order, from the start on.
  void step(const AuditedStep& audited, Audit& audit);

 private:
  bool finite_ = true;  ///< until the first step with a number that is not; what is not after it follows from that
  std::map<std::int64_t, EvaluationRow> first_evaluation_;  ///< by microbatch
};

}  // namespace plumbline::auditing
