// SPDX-License-Identifier: BSD-3-Clause
// The clipping calls of a step, and the step after which bits cannot be compared because two correct runs clipped by
// coefficients that differ by the rounding of a norm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

struct ClippingCall {
  double norm = 0;                 ///< the trainer's own
  std::optional<double> replayed;  ///< the norm that it clipped by instead
  std::optional<double> coefficient;
};

/// A rank's calls in the current step, in order: from norms.csv, or else the single one from steps.csv.
std::vector<ClippingCall> clipping_calls(const RankRecord& rank);
/// The calls of the first rank that has any.
std::vector<ClippingCall> first_clipping_calls(const Record& record);

/// Relative limit for a norm of a record without rows of its gradients. `wider`: stored in float32. The storage
/// of single tensors' norms cancels between two records of the same gradients.
double norm_limit_by_model(const Record& record, const ExpectedModel& model, bool wider);

/// True if in this step the two runs clipped by coefficients that differ by roundings, or may have: the norm of one is
/// not recorded, and all gradients as applied have one ratio that such a rounding explains. False if the reference
/// replayed the candidate's norms.
bool coefficients_diverge(const StepEvidence& now);

/// Why the reference's norms.csv is not a replay of this candidate's; empty if it is, or if it does not replay norms.
std::string why_no_replay_of(const Record& reference, const Record& candidate);

}  // namespace plumbline::judging
