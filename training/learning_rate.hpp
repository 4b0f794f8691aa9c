// SPDX-License-Identifier: BSD-3-Clause
// Linear warm-up, then a curve.
#pragma once

#include <cstdint>

#include "training/run_file.hpp"

namespace plumbline {

/// Rate of step t, counted from 0, in fp64 (exactness.md, 7): lr (f + (1-f) t/w) for t < w, else lr (g + (1-g) c) with
/// c = (1 + cos(pi p)) / 2 (cosine), 1 - p (linear), p = (t-w)/(T-w); lr (constant); for wsd lr until T-d, then
/// lr (g + (1-g) (T-t)/d). f = start_factor, g = final_factor, T = steps, d = decay_steps.
double learning_rate(const TrainSettings& train, std::int64_t step);

}  // namespace plumbline
