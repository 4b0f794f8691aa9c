// SPDX-License-Identifier: BSD-3-Clause
// Common ratios: of losses, gradients and norms to the reference's, and the count that each of them is.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// True if the two agree within the relative tolerance.
bool near(double one, double other, double tolerance = 1e-6);

/// "4 times the reference's: as many as microbatches" or "1/4 of the reference's: ...". Tried are the counts by which
/// trainers divide: microbatches, stages, replicas, tokens, valid tokens, tokens / valid tokens; and 2, a sum that is
/// taken twice. `ratio`: the candidate's over the reference's, positive and finite; `tolerance`: relative.
std::string factor_words(const StepEvidence& now, double ratio, double tolerance);

/// True if factor_words() names a count.
bool is_counted(const StepEvidence& now, double ratio, double tolerance);

// The most common fault of pipelines: all gradients of a step, or of some stages, are the reference's times a
// constant, such as the number of microbatches.

/// A step's differing gradients, and what they have in common.
struct GradientFactor {
  double ratio = 0;   ///< 0: no common ratio, or it is 1
  std::string words;  ///< "all gradients of step 0 are 4 times the reference's: as many as microbatches"; may be empty
};

/// nullopt if no gradient differs. A common ratio means that the l2 ratios of all differing gradients agree within
/// 1e-6, or within a rounding of their dtype of 16 bits. Copies of a tied weight count once; one tensor alone has no
/// ratio in common with others.
std::optional<GradientFactor> gradient_factor(const StepEvidence& now);

/// True if the step has gradients in both records and all have the same bits.
bool gradients_agree(const StepEvidence& now);

// A common fault of records: one run records losses before they are divided by microbatches or tokens, the other after.

/// "all losses of step 0 are 10 times the reference's: as many as valid tokens in the step", and what to do; nullopt if
/// the losses of the step's microbatches have no ratio in common, or it is 1. A single loss must be a counted multiple.
std::optional<std::string> loss_factor_words(const StepEvidence& now);

// Explains a norm that does not follow from its gradients.

/// "; it is the norm of rank 1's own gradients: ..."; else, of an external record, "; it is their largest element; only
/// the 2-norm is judged, ..."; empty of our own. `norm`: of the record's current step.
std::string other_norm_words(const Record& record, double norm);

}  // namespace plumbline::judging
