// SPDX-License-Identifier: BSD-3-Clause
// Formulas and bounds of values that follow from others: losses, norms, clip coefficients, learning rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/rows.hpp"
#include "support/json.hpp"

namespace plumbline::judging {

/// The sum of the microbatches' losses, and which losses of a step or of an evaluation it admits.
class LossSum {
 public:
  void add(float loss) { sum_ += static_cast<double>(loss), ++microbatches_; }
  double sum() const { return sum_; }
  /// True within the roundings of a sum in any precision: each of the M additions and the M + 1 roundings to float32
  /// has an error of at most half an ulp of the running sum; losses are positive, so (2M + 1) 2^-24 of the sum is a
  /// bound.
  bool admits(float whole) const;

 private:
  double sum_ = 0;
  std::int64_t microbatches_ = 0;
};

/// The reason why `loss` cannot be a sum of cross-entropies over that many tokens; nullopt if it can.
std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens);

/// A cell of evaluation.csv that contradicts other rows.
struct CellDifference {
  std::string column, expected, got;
};

/// Checks the total row against the sums over microbatches: tokens and labels exactly, the loss within the roundings of
/// a sum.
std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches);

/// Compares a microbatch's data with an earlier evaluation's.
std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now);

}  // namespace plumbline::judging

namespace plumbline::predicates {

/// Larger limits are useless, because a factor of 1.05 would pass: such a norm is not judged.
inline constexpr double widest_norm_limit = 0.04;

/// Inputs of a norm.
struct NormTerms {
  std::string dtype = "float32";  ///< storage dtype of norms and squares
  double tensors = 1;
  double largest = 1;  ///< number of elements of the largest tensor
  double ranks = 1;
};

/// Bound of the relative error of a norm that is accumulated in float32 (float64 for float64 gradients) with the error
/// of blocked sums, and rounded to `dtype` wherever a norm or a square is stored: per tensor, per rank, and in total.
/// Table in docs/exactness.md.
double norm_rounding(const NormTerms& terms);

/// True if the manifest does not fix order and precision of the norm's summation.
bool summed_by_rank(const Manifest& manifest);

/// A gradient of the current step.
struct GradientRow {
  std::int64_t rank = 0;
  const TensorRow* row = nullptr;
};

/// Rows of the step's gradients, one for a tied weight.
std::vector<GradientRow> gradients_once(const Record& record);

/// The root of the sum of squared l2 over the gradients, and the allowed deviation of a norm.
struct NormByRows {
  double norm = 0;
  double limit = 0;  ///< relative, for a norm that is summed by rank
};

/// nullopt if the step's gradients are not recorded, or if other places hold parts of them.
std::optional<NormByRows> norm_by_rows(const Record& record);
/// For all places: each part counts once, and so does a tensor that places share.
std::optional<NormByRows> norm_by_rows(const std::vector<const Record*>& replicas);

/// min(1, limit / norm) in float64, without an epsilon; 1 without a limit, NaN for a norm that is NaN.
double clip_coefficient_of(double norm, std::optional<double> limit);

/// All coefficients that a correct trainer may compute from the recorded norm: the one above; if the manifest has an
/// epsilon, or a norm that is summed rank by rank, also limit / (norm + epsilon) with each operation rounded to
/// float32, float64 or the run's dtype (the limit rounded or not), as a division or, like
/// torch.nn.utils.clip_grad_norm_, by the reciprocal.
std::vector<double> right_coefficients(double norm, const Manifest& manifest);

// The learning rate of each step, as in docs/exactness.md (7).

/// Linear warm-up from `start_factor` x peak, then a curve to `final_factor` x peak.
struct LearningRateForm {
  double peak = 0;
  std::int64_t warmup_steps = 0, total_steps = 0;
  double start_factor = 1, final_factor = 0;
  std::string curve = "cosine";  ///< cosine | linear | constant | wsd
  std::int64_t decay_steps = 0;  ///< of wsd

  /// The rate of step t from 0, in float64 with each operation rounded: peak (f + (1 - f) t / w) while t < w, then peak
  /// (g + (1 - g) h) with h = (1 + cos(pi ((t - w) / (T - w)))) / 2 (cosine), 1 - (t - w) / (T - w) (linear), or from
  /// T - d on (T - t) / d (wsd); else the peak. Near the end 1 + cos cancels, so another order of operations gives
  /// other digits: use only this function.
  double at(std::int64_t step) const;
};

/// nullopt if a number is missing.
std::optional<LearningRateForm> learning_rate_form(const Json& optimizer, const Json& schedule);
/// From a manifest; nullopt if it has no schedule, or if it is an external one that ends above 0, which may be computed
/// in another order.
std::optional<LearningRateForm> learning_rate_form(const Manifest& manifest);

// Storage dtypes of parameters and moments: unit roundoff, and rounding from wider numbers. Every value of them is
// exact in double.

enum class Storage { float32, float64, bfloat16 };

/// True for a supported dtype.
bool is_storage(const std::string& dtype);
/// Throws InputError for an unsupported dtype.
Storage storage_of(const std::string& dtype);
/// Unit roundoff, half the distance from 1 to the next number: 2^-24, 2^-53, 2^-8.
double unit_roundoff(Storage storage);
/// Rounds once to the nearest number, ties to even; infinite beyond its range.
double rounded(Storage storage, double value);

}  // namespace plumbline::predicates
