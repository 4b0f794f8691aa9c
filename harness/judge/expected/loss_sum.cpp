// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/loss_sum.hpp"

#include <cmath>

namespace plumbline::judging {

double rounding_of_loss_sum(std::int64_t microbatches, double sum) {
  return static_cast<double>(2 * microbatches + 1) * std::ldexp(1.0, -24) * std::abs(sum);
}

std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens) {
  if (loss < 0) return "a cross-entropy, which is never below 0";
  if (valid_tokens == 0 && loss != 0) return "0, without a valid token";
  return std::nullopt;
}

}  // namespace plumbline::judging
