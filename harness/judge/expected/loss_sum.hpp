// SPDX-License-Identifier: BSD-3-Clause
// Bounds of a loss: its distance from the sum of its microbatches' losses, and values that no cross-entropy has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline::judging {

/// Valid for any precision: each of the M additions and the M + 1 roundings to float32 has an error of at most half an
/// ulp of the running sum; losses are positive, so (2M + 1) 2^-24 of the sum is a bound.
double rounding_of_loss_sum(std::int64_t microbatches, double sum);

/// The reason why `loss` cannot be a sum of cross-entropies over that many tokens; nullopt if it can.
std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens);

}  // namespace plumbline::judging
