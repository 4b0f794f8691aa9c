// SPDX-License-Identifier: BSD-3-Clause
#include "training/learning_rate.hpp"

#include <cmath>
#include <numbers>

namespace plumbline {

double learning_rate(const TrainSettings& train, std::int64_t step) {
  const double peak = train.optimizer.learning_rate;
  const auto done = static_cast<double>(step), warmup = static_cast<double>(train.warmup_steps);
  const auto steps = static_cast<double>(train.steps);
  if (step < train.warmup_steps) {
    return peak * (train.start_factor + (1.0 - train.start_factor) * done / warmup);
  }
  if (train.curve == "constant") return peak;
  double height = 1;  // between the end of the curve and its peak
  if (train.curve == "wsd") {
    if (step < train.steps - train.decay_steps) return peak;
    height = (steps - done) / static_cast<double>(train.decay_steps);
  } else {
    const double progress = (done - warmup) / (steps - warmup);
    height = train.curve == "linear" ? 1.0 - progress : (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  }
  return peak * (train.final_factor + (1.0 - train.final_factor) * height);
}

}  // namespace plumbline
