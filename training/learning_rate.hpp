// Linear warm-up, then cosine to zero.
#pragma once

#include <cstdint>

#include "training/run_file.hpp"

namespace plumbline {

/// Rate of step t from 0: lr (f + (1-f) t/w) for t < w, else lr (1 + cos(pi (t-w)/(T-w))) / 2, in fp64 (exactness.md,
/// 7).
double learning_rate(const TrainSettings& train, std::int64_t step);

}  // namespace plumbline
