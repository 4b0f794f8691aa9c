// SPDX-License-Identifier: BSD-3-Clause
// Linear warm-up, then half a cosine down.
#pragma once

#include <cstdint>

#include "training/run_file.hpp"

namespace plumbline {

/// Rate of step t, counted from 0: lr (f + (1-f) t/w) for t < w, else lr (g + (1-g) (1 + cos(pi (t-w)/(T-w))) / 2), in
/// fp64, with f = start_factor and g = final_factor (exactness.md, 7).
double learning_rate(const TrainSettings& train, std::int64_t step);

}  // namespace plumbline
