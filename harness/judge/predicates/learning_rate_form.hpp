// SPDX-License-Identifier: BSD-3-Clause
// The learning rate of each step, as in docs/exactness.md (7).
#pragma once

#include <cstdint>
#include <optional>

#include "record/record.hpp"
#include "support/json.hpp"

namespace plumbline::predicates {

/// Linear warm-up from `start_factor` x peak, then half a cosine down to `final_factor` x peak.
struct LearningRateForm {
  double peak = 0;
  std::int64_t warmup_steps = 0, total_steps = 0;
  double start_factor = 1, final_factor = 0;

  /// The rate of step t from 0, in float64 with each operation rounded: peak (f + (1 - f) t / w) while t < w, then peak
  /// (g + (1 - g) (1 + cos(pi ((t - w) / (T - w)))) / 2). Near the end 1 + cos cancels, so another order of operations
  /// gives other digits: use only this function.
  double at(std::int64_t step) const;
};

/// nullopt if a number is missing.
std::optional<LearningRateForm> learning_rate_form(const Json& optimizer, const Json& schedule);
/// From a manifest; nullopt if it has no schedule, or if it is an external one that ends above 0, which may be computed
/// in another order.
std::optional<LearningRateForm> learning_rate_form(const Manifest& manifest);

}  // namespace plumbline::predicates
