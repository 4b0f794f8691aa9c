// How far a loss may lie from the sum of its microbatches' losses.
#pragma once

#include <cstdint>

namespace plumbline::judging {

/// In whatever precision a trainer adds, each of the M additions and the M + 1 roundings to fp32 is off by at most half
/// an ulp of the running sum; losses are positive, so (2M + 1) 2^-24 of the sum bounds it.
double rounding_of_loss_sum(std::int64_t microbatches, double sum);

}  // namespace plumbline::judging
