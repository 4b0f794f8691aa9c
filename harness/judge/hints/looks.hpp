// SPDX-License-Identifier: BSD-3-Clause
// What a wrong tensor is instead, where the tables show it. Added to the words of a difference.
#pragma once

#include <map>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// Zeros, the tensor of the step before or of another parameter, or other signs or another order. Empty if it is none
/// of these.
std::string look_at(const StepEvidence& now, const TensorRow& theirs, const TensorRow& mine);
/// The tensor of another microbatch or of the step before; and, for gradients of losses that are scaled otherwise, what
/// to do. Empty if neither is so.
std::string look_at(const StepEvidence& now, const BoundaryRow& mine);
/// What to do about another shape, where a recorder chose the tensors of a boundary; else empty.
std::string look_at_shape(const StepEvidence& now, const BoundaryRow& theirs, const BoundaryRow& mine);

/// "l2 10.6, expected 10 (+6 %); max_abs 4, expected 1 (4 times)".
std::string size_of_difference(const TensorRow& theirs, const TensorRow& mine);
/// "+6 %"; "4 times" beyond a factor of two; "equal".
std::string relative_size(double got, double expected);

// Stages whose weights a step left as they were in one record alone: an optimizer that did not step, or steps on other
// tensors.

/// By stage of the candidate: "stage 0's weights did not change in step 1 (they have the bits of step 0)"; and if its
/// rank recorded so, "rank 0's optimizer did not step in step 1".
std::map<std::int64_t, std::string> still_weights(const StepEvidence& now);

// Why the gradient of a weight that several stages hold differs: it was not summed over its copies, or the one device
// sums its uses in another order.

/// By each name of a tied weight whose gradient differs from the reference's in this step; empty where rows do not show
/// a cause.
std::map<std::string, std::string> tied_gradient_words(const StepEvidence& now);

}  // namespace plumbline::judging
