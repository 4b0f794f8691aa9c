// SPDX-License-Identifier: BSD-3-Clause
// The learning rate of each step, from docs/exactness.md (7).
#pragma once

#include <cstdint>
#include <optional>

#include "support/json.hpp"

namespace plumbline::auditing {

/// A warm-up in a line from `start_factor` x peak, then half a cosine down to `final_factor` x peak.
struct LearningRateForm {
  double peak = 0;
  std::int64_t warmup_steps = 0, total_steps = 0;
  double start_factor = 1, final_factor = 0;

  /// Of step t from 0, in fp64 with each operation rounded: peak (f + (1 - f) t / w) while t < w, from then on
  /// peak (g + (1 - g) (1 + cos(pi ((t - w) / (T - w)))) / 2). Near the end 1 + cos cancels, so that another order of
  /// operations gives other digits: whoever needs a rate takes it from here.
  double at(std::int64_t step) const;
};

/// Nothing where a number is missing.
std::optional<LearningRateForm> learning_rate_form(const Json& optimizer, const Json& schedule);
/// Of a whole manifest; nothing where it does not say how the rate goes on, or where it is another program's and ends
/// above 0, which it may compute in another order.
std::optional<LearningRateForm> learning_rate_form(const Json& manifest);

}  // namespace plumbline::auditing
