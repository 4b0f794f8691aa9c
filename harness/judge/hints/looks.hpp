// SPDX-License-Identifier: BSD-3-Clause
// What a wrong tensor is instead, where the tables show it. Added to the words of a difference.
#pragma once

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

/// "l2 4 times and max_abs 4 times the reference's".
std::string size_of_difference(const TensorRow& theirs, const TensorRow& mine);

}  // namespace plumbline::judging
