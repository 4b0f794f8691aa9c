// SPDX-License-Identifier: BSD-3-Clause
// What a loss can be: how far it may lie from the sum of its microbatches' losses, and what no cross-entropy is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline::judging {

/// In whatever precision a trainer adds, each of the M additions and the M + 1 roundings to fp32 is off by at most half
/// an ulp of the running sum; losses are positive, so (2M + 1) 2^-24 of the sum bounds it.
double rounding_of_loss_sum(std::int64_t microbatches, double sum);

/// What a sum of cross-entropies over so many tokens is instead; nothing where it can be this one.
std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens);

}  // namespace plumbline::judging
