// SPDX-License-Identifier: BSD-3-Clause
// Hints: what the rows of a step show of the cause of a difference that a check has found. They add words to a finding
// and cannot change an outcome.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

enum class Advice { names, units, tied, batch, crossing, other_norm, own_norm, one_leaf, order };

/// Begins with "; ". Empty for records of our own trainers.
std::string advice(const Manifest& manifest, Advice of);

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

/// Zeros, the tensor of the step before or of another parameter, or other signs or another order. Empty if it is none
/// of these.
std::string look_at(const StepEvidence& now, const TensorRow& theirs, const TensorRow& mine);
/// The tensor of another microbatch or of the step before; and, for gradients of losses that are scaled otherwise, what
/// to do. Empty if neither is so.
std::string look_at(const StepEvidence& now, const BoundaryRow& mine);
/// What to do about a wrong shape, if a recorder chose the tensors of a boundary; otherwise empty.
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

class Hints {
 public:
  /// Keeps what the first step in which gradients, losses or weights differ shows. `now`: a step of records that are
  /// compared in bits.
  void note(const StepEvidence& now);
  /// Explains the check's first divergence; empty if it cannot.
  std::string of(const CheckResult& result) const;

 private:
  /// The hint, and its step.
  template <class Words>
  struct Found {
    std::int64_t step = 0;
    Words words;
  };
  std::string of_gradient(const Finding& divergence) const;
  std::string of_loss(const Finding& divergence) const;

  std::optional<Found<GradientFactor>> factor_;
  std::optional<Found<std::map<std::string, std::string>>> tied_;  ///< by the parameter's name
  std::optional<Found<std::string>> loss_;
  std::optional<Found<std::map<std::int64_t, std::string>>> still_;  ///< by stage
};

}  // namespace plumbline::judging
