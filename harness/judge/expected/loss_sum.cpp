// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/loss_sum.hpp"

#include <cmath>

namespace plumbline::judging {

bool LossSum::admits(float whole) const {
  const double rounding = static_cast<double>(2 * microbatches_ + 1) * std::ldexp(1.0, -24) * std::abs(sum_);
  return std::abs(static_cast<double>(whole) - sum_) <= rounding;
}

std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens) {
  if (loss < 0) return "a cross-entropy, which is never below 0";
  if (valid_tokens == 0 && loss != 0) return "0, without a valid token";
  return std::nullopt;
}

}  // namespace plumbline::judging
