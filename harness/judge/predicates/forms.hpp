// SPDX-License-Identifier: BSD-3-Clause
// Formulas of values that follow from others: the clip coefficient, the learning rate, the rounding to a format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"

namespace plumbline::predicates {

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
